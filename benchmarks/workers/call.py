# SPDX-License-Identifier: Apache-2.0
"""What a library's file gives: a call that can be timed, and what it computed."""

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
    """The library has no way to say this workload, or none worth measuring; says why."""


@dataclass(frozen=True)
class Call:
    """One workload, ready to run.

    Attributes:
        run: one execution, over when it returns; allocates no more than the library's users would.
        result: the result of the last execution; bfloat16 widened to float32.
        close: gives back what it holds.
    """

    run: Callable[[], object]
    result: Callable[[], Array]
    close: Callable[[], None] = lambda: None


Operators = Mapping[str, Callable[..., Any]]
"""How a library says each operator: functions of the workload and, mostly, its operands."""


def lookup(table: Operators, workload: Workload) -> Callable[..., Any]:
    """The function that a library's table has for the workload's operator."""
    if workload["op"] not in table:
        raise Unsupported(f"{workload['op']} is not written for it here")
    return table[workload["op"]]


def keeping(function: Callable[[], Any], array: Callable[[Any], Array] = np.asarray) -> Call:
    """A call whose result is what `function` returned last, made an array by `array`."""
    last: list[Any] = []

    def run() -> None:
        last[:] = [function()]

    return Call(run, lambda: array(last[0]))


def aligned(shape: Sequence[int], dtype: Any) -> Array:
    """An array at the start of a cache line, where every library but NumPy puts its own."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    whole = np.zeros(size + _CACHE_LINE, np.uint8)
    skip = -whole.ctypes.data % _CACHE_LINE
    array: Array = whole[skip : skip + size].view(dtype).reshape(shape)
    return array


def padded(x: Array, border: int) -> Array:
    """Images (n, h, w, c) with zeros around them."""
    return np.pad(x, ((0, 0), (border, border), (border, border), (0, 0)))
