# SPDX-License-Identifier: Apache-2.0
"""Helpers of the host library: arrays for memcpy, and cycles from counters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def input_array_to_u32(
    np_arr: NDArray[Any], sentinel: int | None = None, fast_dim_sz: int = 0
) -> NDArray[np.uint32]:
    """Place 16-bit elements in the low halves of 32-bit words; 32-bit elements are unchanged.

    With a sentinel, the high half is the index along the fastest dimension of `fast_dim_sz`.
    """
    flat = np.ascontiguousarray(np_arr).ravel()
    if flat.dtype.itemsize == 4:
        return flat.view(np.uint32)
    words = flat.view(np.uint16).astype(np.uint32)
    if sentinel is not None:
        size = fast_dim_sz or flat.size
        index = np.arange(flat.size, dtype=np.uint32) % np.uint32(size)
        words |= index << np.uint32(16)
    return words


def memcpy_view(arr: NDArray[Any], datatype: Any) -> NDArray[Any]:
    """View 32-bit words as `datatype`: a 16-bit type takes the low halves."""
    kind = np.dtype(datatype)
    if kind.itemsize == 4:
        return arr.view(kind)
    shape = arr.shape
    halves: NDArray[Any] = arr.reshape(-1).view(kind)[:: 4 // kind.itemsize]
    return halves.reshape(shape)


def calculate_cycles(timestamp_buf: NDArray[Any]) -> int:
    """Cycles between two 48-bit counters packed into three 32-bit words."""
    words = np.ascontiguousarray(timestamp_buf).ravel().view(np.uint16).astype(np.int64)
    start, end = (int(w[0] | w[1] << 16 | w[2] << 32) for w in (words[:3], words[3:6]))
    return end - start


def make_u48(words: NDArray[Any]) -> int:
    """Combine three 16-bit words, lowest first, into a counter."""
    return int(words[0]) + (int(words[1]) << 16) + (int(words[2]) << 32)
