# SPDX-License-Identifier: Apache-2.0
"""What a library's file gives: a call that can be timed, and what it computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
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


def padded(x: Array, border: int) -> Array:
    """Images (n, h, w, c) with zeros around them."""
    return np.pad(x, ((0, 0), (border, border), (border, border), (0, 0)))
