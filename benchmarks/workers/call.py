# SPDX-License-Identifier: Apache-2.0
"""The interface of a library's file: a call to time, and its result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_CACHE_LINE = 64
Workload = Mapping[str, Any]
"""A workload as JSON: op, dtype, inputs, weights, attributes; see benchmarks/peers/workloads.py."""


class Unsupported(Exception):  # noqa: N818  an answer, not a mistake
    """The reason why the library cannot run a workload, or not in a way worth measuring."""


@dataclass(frozen=True)
class Call:
    """One workload, ready to run.

    Attributes:
        run: one execution, complete when it returns; it allocates no more than users of the library
            would.
        result: the result of the last execution; bfloat16 widened to float32.
        close: releases its resources.
    """

    run: Callable[[], object]
    result: Callable[[], Array]
    close: Callable[[], None] = lambda: None


Operators = Mapping[str, Callable[..., Any]]
"""A library's functions per operator, of the workload and usually its operands."""


def lookup(table: Operators, workload: Workload) -> Callable[..., Any]:
    """The function for the workload's operator in a library's table."""
    if workload["op"] not in table:
        raise Unsupported(f"{workload['op']} is not written for it here")
    return table[workload["op"]]


def keeping(function: Callable[[], Any], array: Callable[[Any], Array] = np.asarray) -> Call:
    """A call whose result is the last result of `function`, converted by `array`."""
    last: list[Any] = []

    def run() -> None:
        last[:] = [function()]

    return Call(run, lambda: array(last[0]))


def aligned(shape: Sequence[int], dtype: Any) -> Array:
    """An array that is aligned to a cache line, as in every library except NumPy."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    whole = np.zeros(size + _CACHE_LINE, np.uint8)
    skip = -whole.ctypes.data % _CACHE_LINE
    array: Array = whole[skip : skip + size].view(dtype).reshape(shape)
    return array


def padded(x: Array, border: int) -> Array:
    """Images (n, h, w, c) with zeros around them."""
    return np.pad(x, ((0, 0), (border, border), (border, border), (0, 0)))
