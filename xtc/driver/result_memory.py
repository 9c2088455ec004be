# SPDX-License-Identifier: Apache-2.0
"""Memory for the results of calls, reused once results are released.

For large arrays NumPy would allocate new pages in each call, which the system has to clear: a call
that returns 38 MB takes 9,203 page faults, and more time for them than for some of its operators.
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
"""The smallest array in bytes whose memory is kept; allocators reuse smaller blocks themselves."""
_CALLS = 2


class ResultMemory:
    """Allocates arrays for results and reuses the memory of dead ones.

    Live arrays never share memory: a buffer is returned when its array and all views of it are
    dead. At most the results of two calls are kept. Thread-safe.
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
        """An uninitialized array whose data starts at a multiple of 64 bytes."""
        size = byte_count(shape, dtype)
        free = self._free.get(size)
        if free is None:
            return aligned_empty(shape, dtype)
        try:
            raw = free.pop()  # the most recently written buffer is most likely in a cache
        except IndexError:
            raw = np.empty(size + ALIGNMENT, np.uint8)
        loan = np.asarray(_Loan(self, raw, size))
        return loan.view(element_type(dtype).numpy).reshape(shape)

    def take_back(self, raw: Array, size: int) -> None:
        """Keep the unreferenced buffer of an array of `size` bytes."""
        free = self._free.get(size)
        if free is not None:
            free.append(raw)

    def close(self) -> None:
        """Free the kept buffers and keep no more; live arrays are not affected."""
        self._free = {}


class _Loan:
    """A buffer in use: NumPy's owner of the arrays' memory."""

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
