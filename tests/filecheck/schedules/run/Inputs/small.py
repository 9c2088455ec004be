# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of schedules: a small contraction, its schedule, and a check of its result."""

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph
from xtc.schedule import NodeSchedule


def graph() -> Graph:
    """C = relu(A) B."""
    a = O.tensor((32, 16), name="A")
    b = O.tensor((16, 48), name="B")
    with O.graph(name="small") as gb:
        O.matmul(O.relu(a, name="P"), b, name="C")
    return gb.graph


def new() -> NodeSchedule:
    """The empty schedule of C (i: 32, j: 48, k: 16 reduced)."""
    return xtc.Schedule(graph())["C"]


def of(nest: object) -> NodeSchedule:
    """The schedule of C that data describes."""
    return xtc.Schedule.of(graph(), {"C": nest})["C"]


def checked(nest: object) -> None:
    """Compile it with this schedule of C, run it and compare it with NumPy."""
    with xtc.compile(graph(), schedule={"C": nest}) as module:
        module.check()
        again = module.schedule.texts()
    with xtc.compile(graph(), schedule=again) as module:
        module.check()
    print("agree")
