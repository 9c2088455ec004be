# SPDX-License-Identifier: Apache-2.0
"""The contents of DLPack capsules (dmlc.github.io/dlpack)."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from xtc.core.errors import UserError

CPU = 1  # kDLCPU in dlpack.h
GPU = 2  # kDLCUDA
UNSIGNED = 1  # kDLUInt
BFLOAT = 4  # kDLBfloat
_BOOL = 6  # kDLBool
_KINDS = {0: "int", UNSIGNED: "uint", 2: "float"}
_CAPSULE = b"dltensor"


class DlTensor(ctypes.Structure):
    """A DLTensor: data, device (type and number), rank, element type, sizes, strides, offset."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )

    @property
    def address(self) -> int:
        """The address of the first element."""
        return int(self.data or 0) + int(self.byte_offset)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return tuple(self.shape[: self.rank])

    @property
    def element_strides(self) -> tuple[int, ...] | None:
        """The stride of each dimension in elements; None if the tensor is dense."""
        return tuple(self.strides[: self.rank]) if self.strides else None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type. Raises UserError for a type that NumPy does not have."""
        code, bits, lanes = int(self.code), int(self.bits), int(self.lanes)
        found: np.dtype[Any] | None = None
        if (code, bits, lanes) == (BFLOAT, 16, 1):
            found = np.dtype(ml_dtypes.bfloat16)
        elif (code, bits, lanes) == (_BOOL, 8, 1):
            found = np.dtype(bool)
        elif lanes == 1 and code in _KINDS:
            with contextlib.suppress(TypeError):  # NumPy has no type of this width
                found = np.dtype(f"{_KINDS[code]}{bits}")
        if found is not None:
            return found
        raise UserError(
            f"DLPack's element type {code} of {bits} bits, {lanes} lanes, is not supported"
        )


def tensor_in(capsule: object) -> DlTensor:
    """The tensor of an unconsumed capsule, valid as long as the capsule.

    Raises ValueError for other objects.
    """
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return DlTensor.from_address(pointer(capsule, _CAPSULE))
