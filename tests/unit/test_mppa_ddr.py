# SPDX-License-Identifier: Apache-2.0
"""Direct accesses of PEs to DDR cost modelled time, which ranks schedules like the counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph
from xtc_targets.mppa import MppaDevice
from xtc_targets.mppa.description import COOLIDGE_V2

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]

M, K, N = 80, 64, 64


def _meshed(graph: Graph) -> xtc.Schedule:
    schedule = xtc.Schedule(graph)
    memory = schedule.define_memory_mesh("memory_mesh", {"mx": 5})
    schedule.define_processor_mesh("processor_mesh", {"px": 5, "psx": 16}, memory)
    node = schedule["C"].strip_mine("j", {"j1": 4})
    node.distribute({"i": "px", "j": "psx"})
    return schedule


def _from_ddr(schedule: xtc.Schedule) -> None:
    """Every PE reads both operands from DDR."""


def _one_packed(schedule: xtc.Schedule) -> None:
    schedule["C"].pack_at("j", 1)


def _both_packed(schedule: xtc.Schedule) -> None:
    schedule["C"].pack_at("j", 1).pack_at("j", 0)


def _packed(schedule: xtc.Schedule) -> None:
    schedule["C"].pack_at("j", 1).pack_at("j", 0).buffer_at("j")


def _modelled(choose: Callable[[xtc.Schedule], None]) -> tuple[float, float]:
    """Cycles, and lines of DDR that PEs access directly."""
    with MppaDevice() as device:
        a = O.tensor((M, K), name="A", device=device)
        b = O.tensor((K, N), name="B", device=device)
        with O.graph(name="mm") as gb:
            O.matmul(a, b, name="C", device=device)
        schedule = _meshed(gb.graph)
        choose(schedule)
        with xtc.compile(gb.graph, target=device, schedule=schedule) as module:
            given = [device.array(np.ones(s, np.float32)) for s in ((M, K), (K, N))]
            assert (np.asarray(module(*given).numpy()) == K).all()
        counters = device.counters()
        return (
            counters["modelled.mppa.CYCLES"],
            counters["modelled.mppa.DDR_LINES.cluster.sum.pe.sum"],
        )


def test_schedules_rank_by_their_ddr_accesses() -> None:
    choices = (_from_ddr, _one_packed, _both_packed, _packed)
    found = {choice.__name__: _modelled(choice) for choice in choices}
    by_lines = sorted(found, key=lambda name: found[name][1])
    by_cycles = sorted(found, key=lambda name: found[name][0])
    assert by_cycles == by_lines == [choice.__name__ for choice in reversed(choices)]
    cycles, lines = found["_from_ddr"]
    # Each PE waits for its own lines.
    assert cycles >= lines / (5 * 16) * COOLIDGE_V2.ddr_line_cycles
    assert cycles > 3 * found["_packed"][0]
