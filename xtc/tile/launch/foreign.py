# SPDX-License-Identifier: Apache-2.0
"""Tensors of other libraries, as arrays over the same memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from xtc.driver.dlpack import from_dlpack
from xtc.runtime.device_array import DeviceArray

Array = np.ndarray[Any, Any]

_CPU = 1  # "DLPack: Open In Memory Tensor Structure", kDLCPU
_CODED = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}
"""Types that DLPack lacks, by the names that libraries print."""


def over(value: Any) -> Any:
    """A NumPy array over the memory of a host tensor; other values are unchanged.

    A kernel that writes to the array writes to the tensor.
    """
    if isinstance(value, np.ndarray | DeviceArray) or not hasattr(value, "__dlpack_device__"):
        return value
    if int(value.__dlpack_device__()[0]) != _CPU:
        return value
    plain = value.detach() if hasattr(value, "detach") else value
    coded = _CODED.get(str(getattr(plain, "dtype", "")).rpartition(".")[2])
    if coded is not None and hasattr(plain, "view"):
        import torch

        return _writable(from_dlpack(plain.view(torch.uint8))).view(coded)
    return _writable(from_dlpack(plain))


class _Memory:
    """The memory of an array, as writable: DLPack capsules do not record it."""

    def __init__(self, array: Array) -> None:
        self.array = array
        interface = dict(array.__array_interface__)
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _writable(array: Array) -> Array:
    if array.flags.writeable:
        return array
    plain = array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array
    return np.asarray(_Memory(plain)).view(array.dtype)
