# SPDX-License-Identifier: Apache-2.0
"""A tensor of a foreign library: its memory is exported by DLPack only, and poisoned on return.

The structures are those of dlpack.h, version 0.8 (without a version field).
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

POISON = 0xA5
CPU = 1
CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "b": 6}  # kDLInt, kDLUInt, kDLFloat, kDLBfloat, kDLBool


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Managed(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
_NAME = b"dltensor"


@dataclass(frozen=True)
class Loan:
    """An exported tensor; its memory stays mapped, so that late readers see poison."""

    capsule: object
    structure: tuple[object, ...]
    memory: np.ndarray[Any, Any]

    @property
    def taken(self) -> bool:
        """Whether a consumer took the tensor from its capsule, and therefore has to return it."""
        return not _is_valid(self.capsule, _NAME)


@dataclass
class Ledger:
    """Counts exported tensors and their returns."""

    loans: list[Loan] = field(default_factory=list)
    returns: int = 0

    @property
    def outstanding(self) -> int:
        return sum(loan.taken for loan in self.loans) - self.returns


_ledgers: dict[int, tuple[Ledger, np.ndarray[Any, Any]]] = {}  # by the address of the structure


def _give_back(address: int) -> None:
    ledger, memory = _ledgers[address]
    memory[...] = POISON
    ledger.returns += 1


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_give_back)


class Producer:
    """Exports a copy of `array`, with the same strides, on each request."""

    def __init__(
        self, array: np.ndarray[Any, Any], ledger: Ledger, device: tuple[int, int] = (CPU, 0)
    ) -> None:
        self._array = array
        self._ledger = ledger
        self._device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, *, stream: object = None, **_: object) -> object:
        low, high = np.lib.array_utils.byte_bounds(self._array)
        memory = np.frombuffer(ctypes.string_at(low, high - low), np.uint8).copy()
        kind = self._array.dtype
        strides = [step // kind.itemsize for step in self._array.strides]
        sizes = ctypes.c_int64 * self._array.ndim
        shape, steps = sizes(*self._array.shape), sizes(*strides)
        managed = _Managed(
            memory.ctypes.data + self._array.ctypes.data - low,
            _Device(*self._device),
            self._array.ndim,
            _DataType(CODES[kind.kind], kind.itemsize * 8, 1),
            shape,
            steps,
            0,
            None,
            ctypes.cast(_DELETER, ctypes.c_void_p).value,
        )
        address = ctypes.addressof(managed)
        capsule = _new_capsule(address, _NAME, None)
        _ledgers[address] = self._ledger, memory
        self._ledger.loans.append(Loan(capsule, (managed, shape, steps), memory))
        return capsule
