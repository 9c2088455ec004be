# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of refusals: a schedule, and functions that print refusals."""

from collections.abc import Callable

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph
from xtc.schedule import NodeSchedule


def product() -> Graph:
    """C = relu(A) B: operand 0 can be fused, operand 1 is an argument."""
    a = O.tensor((32, 16), name="A")
    b = O.tensor((16, 48), name="B")
    with O.graph(name="product") as gb:
        O.matmul(O.relu(a, name="P"), b, name="C")
    return gb.graph


def new() -> NodeSchedule:
    """The empty schedule of C (i: 32, j: 48, k: 16 reduced)."""
    return xtc.Schedule(product())["C"]


def refused(call: Callable[[], object]) -> None:
    """Print why `call`, or else the schedule that it returns, is refused."""
    try:
        str(call())
    except xtc.UserError as error:
        print(error)
    else:
        raise SystemExit("this is not refused")


def refused_data(nest: object) -> None:
    """Print why the nest is refused as the schedule of C."""
    refused(lambda: xtc.Schedule.of(product(), {"C": nest}))


def refused_text(text: str) -> None:
    """Print why the text is refused as a schedule."""
    refused(lambda: xtc.Schedule.of(product(), text))
