# SPDX-License-Identifier: Apache-2.0
"""Arrays over the memory of other libraries' tensors, by DLPack (dmlc.github.io/dlpack)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from xtc.runtime.dlpack import BFLOAT, CPU, UNSIGNED, tensor_in

Array = np.ndarray[Any, Any]


class _Exported:
    """An adapter that passes an existing capsule to NumPy."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0

    def __dlpack__(self, **_: object) -> object:
        return self._capsule


def from_dlpack(value: Any) -> Array:
    """An array over the tensor's memory, which keeps the tensor alive; bfloat16 is ml_dtypes'.

    If DLPack fails, a tensor in host memory may convert itself to an array; nothing is copied from
    another device.

        Raises what NumPy or the tensor raises: BufferError, RuntimeError, TypeError or ValueError.
    """
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError):
        if value.__dlpack_device__()[0] != CPU:
            raise
        array = _bfloat16(value)
        if array is None and not hasattr(value, "__array__"):
            raise
    return np.asarray(value) if array is None else array


def _bfloat16(value: Any) -> Array | None:
    """The array of a bfloat16 tensor, exported as integer bits; None for other types."""
    try:
        capsule = value.__dlpack__()
    except (BufferError, RuntimeError, TypeError, ValueError):
        return None
    tensor = tensor_in(capsule)
    if (tensor.code, tensor.bits, tensor.lanes) != (BFLOAT, 16, 1):
        return None
    tensor.code = UNSIGNED
    exported: Any = _Exported(capsule)
    array: Array = np.from_dlpack(exported).view(ml_dtypes.bfloat16)
    return array
