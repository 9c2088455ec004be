# SPDX-License-Identifier: Apache-2.0
"""Memory for the results of calls, which is used again once nobody holds a result any more.

Large arrays that NumPy makes for each call are new pages each time, which the system has to clear:
a call that returns 38 MB takes 9,203 page faults, and more time for these than for some of its
operators.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from xtc.core.types import element_type
from xtc.driver.arguments import ALIGNMENT, aligned_empty, byte_count
from xtc.interfaces.artifact import Manifest

Array = np.ndarray[Any, Any]

SMALLEST = 1 << 15
"""Bytes from which an array's memory is kept; allocators keep that of smaller ones themselves."""
_CALLS = 2


class ResultMemory:
    """Makes arrays for results; what is left of dead ones is kept for later calls.

    No two living arrays share memory: a buffer comes back when the array on it, and all views of
    that, are gone. At most the results of two calls are kept. Any thread may make arrays, and let
    them go.
    """

    def __init__(self, manifest: Manifest) -> None:
        sizes = Counter(
            byte_count(argument.shape, argument.dtype)
            for argument in manifest.outputs
            if argument.device is None
        )
        self._free: Mapping[int, deque[Array]] = {
            size: deque(maxlen=_CALLS * count) for size, count in sizes.items() if size >= SMALLEST
        }

    def empty(self, shape: tuple[int, ...], dtype: str) -> Array:
        """An uninitialised array whose data starts at a multiple of 64 bytes."""
        size = byte_count(shape, dtype)
        free = self._free.get(size)
        if free is None:
            return aligned_empty(shape, dtype)
        try:
            raw = free.pop()  # what was written last is the likeliest to be in a cache
        except IndexError:
            raw = np.empty(size + ALIGNMENT, np.uint8)
        loan = np.asarray(_Loan(self, raw, size))
        return loan.view(element_type(dtype).numpy).reshape(shape)

    def take_back(self, raw: Array, size: int) -> None:
        """Keep a buffer of an array of `size` bytes, to which nothing refers any more."""
        free = self._free.get(size)
        if free is not None:
            free.append(raw)

    def close(self) -> None:
        """Free what is kept, and keep nothing more; arrays that live stay as they are."""
        self._free = {}


class _Loan:
    """A buffer while arrays refer to it: what NumPy knows as the owner of their memory."""

    def __init__(self, memory: ResultMemory, raw: Array, size: int) -> None:
        address = raw.ctypes.data
        self._memory, self._raw, self._size = memory, raw, size
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size,),
            "data": (address + -address % ALIGNMENT, False),
        }

    def __del__(self) -> None:
        self._memory.take_back(self._raw, self._size)
