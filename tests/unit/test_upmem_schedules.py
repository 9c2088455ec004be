# SPDX-License-Identifier: Apache-2.0
"""User schedules on DPUs are followed or refused; chains on the same rows are one launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.schedule.node import NodeSchedule
from xtc_targets.upmem import UpmemDevice
from xtc_targets.upmem.toolchain.clang import unavailable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(unavailable() is not None, reason=str(unavailable())),
]
Change = Callable[[NodeSchedule], object]


@pytest.fixture(scope="module")
def dpus() -> Iterator[UpmemDevice]:
    with UpmemDevice(nr_dpus=4, tasklets=8) as device:
        yield device


def _matmul(rows: int = 64) -> xtc.Graph:
    a, b = O.tensor((rows, 64), "int32", name="a"), O.tensor((64, 64), "int32", name="b")
    with O.graph(name="product") as graph:
        O.matmul(a, b, name="C")
    return graph.graph


def _schedule(
    graph: xtc.Graph, device: UpmemDevice, change: Change, mesh: int, ranks: int = 0
) -> xtc.Schedule:
    schedule = xtc.Schedule(graph, target=device)
    if mesh:
        dpus = {"rank": ranks, "dpu": mesh // ranks} if ranks else {"dpu": mesh}
        of_dpus = {f"{name}_memory": size for name, size in dpus.items()}
        memories = schedule.define_memory_mesh("memories", of_dpus)
        schedule.define_processor_mesh("processors", {**dpus, "tasklet": 8}, memories)
    change(schedule["C"])
    return schedule


def _is_right(graph: xtc.Graph, device: UpmemDevice, schedule: xtc.Schedule | None = None) -> bool:
    random = np.random.default_rng(0)
    shapes = [[int(size) for size in x.shape] for x in graph.inputs]
    inputs = [
        random.integers(0, 9, shape).astype(x.dtype)
        for shape, x in zip(shapes, graph.inputs, strict=True)
    ]
    with xtc.compile(graph, target=device, schedule=schedule) as module:
        return all(result.ok for result in module.check(*inputs))


def _tiled(node: NodeSchedule) -> NodeSchedule:
    node.tile("i", {"i1": 2}).tile("j", {"j1": 16}).tile("k", {"k1": 32})
    return node.interchange(["i", "j", "k", "i1", "j1", "k1"])


def _over_all(node: NodeSchedule) -> NodeSchedule:
    node.tile("i", {"i1": 16, "i2": 2}).tile("j", {"j1": 16}).tile("k", {"k1": 32})
    node.interchange(["i", "i1", "j", "k", "i2", "j1", "k1"])
    return node.distribute({"i": "dpu", "i1": "tasklet"})


def _in_steps(node: NodeSchedule) -> NodeSchedule:
    node.tile("i", {"i1": 16, "i2": 2, "i3": 1}).tile("j", {"j1": 16})
    node.interchange(["i", "i1", "i2", "j", "k", "i3", "j1"])
    return node.distribute({"i": "dpu", "i1": "tasklet"})


def _buffered(node: NodeSchedule) -> NodeSchedule:
    return _tiled(node).parallelize(["i"]).buffer_at("j").pack_at("k", 0).pack_at("k", 1)


FOLLOWED: Mapping[str, tuple[Change, int]] = {
    "a tile": (lambda node: node.tile("i", {"i1": 8}), 0),
    "tiles of all axes": (_tiled, 0),
    "tiles in WRAM": (_buffered, 0),
    "DPUs and tasklets": (_over_all, 4),
    "steps of a tasklet": (_in_steps, 4),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_schedule_is_followed(dpus: UpmemDevice, name: str) -> None:
    change, mesh = FOLLOWED[name]
    graph = _matmul()
    assert _is_right(graph, dpus, _schedule(graph, dpus, change, mesh))


def test_a_schedule_is_followed_on_the_last_rows() -> None:
    """Seven DPUs have ten rows each, the last one four of 64."""
    graph = _matmul()
    with UpmemDevice(nr_dpus=7, tasklets=5) as seven:
        change: Change = lambda node: _tiled(node).parallelize(["i", "j"])  # noqa: E731
        assert _is_right(graph, seven, _schedule(graph, seven, change, 0))


def _over_ranks(node: NodeSchedule, rows: int) -> NodeSchedule:
    node.tile("i", {"i1": rows, "i2": 16, "i3": 2}).tile("j", {"j1": 16}).tile("k", {"k1": 32})
    node.interchange(["i", "i1", "i2", "j", "k", "i3", "j1", "k1"])
    return node.distribute({"i": "rank", "i1": "dpu", "i2": "tasklet"})


def test_ranks_and_their_dpus_share_one_loop(dpus: UpmemDevice) -> None:
    graph = _matmul()
    whole = _schedule(graph, dpus, lambda node: _over_ranks(node, 32), 4, ranks=2)
    assert _is_right(graph, dpus, whole)
    part = _schedule(graph, dpus, lambda node: _over_ranks(node, 16), 4, ranks=2)
    with pytest.raises(UserError, match="gives 2 DPUs 16 rows, and on 4 DPUs these have 32"):
        xtc.compile(graph, target=dpus, schedule=part)


def _of_columns(node: NodeSchedule) -> NodeSchedule:
    return node.tile("j", {"j1": 16}).interchange(["j", "i", "k", "j1"])


REFUSED: Mapping[str, tuple[Change, int]] = {
    "'j#16' of C is vectorized: DPUs do not support this": (
        lambda node: node.tile("j", {"j1": 16}).vectorize(["j1"]),
        0,
    ),
    "'k#4' of C is unrolled: DPUs do not support this": (
        lambda node: node.tile("k", {"k1": 4}).unroll({"k1": 4}),
        0,
    ),
    "'i' of C has tiles of 5, which do not divide its 64": (
        lambda node: node.tile("i", {"i1": 5}),
        0,
    ),
    "'j' of C is inside of 'k', which is reduced": (
        lambda node: _tiled(node).interchange(["i", "k", "j", "i1", "j1", "k1"]),
        0,
    ),
    "'i' of C has the result's buffer": (lambda node: _tiled(node).buffer_at("i"), 0),
    "'j' of C packs operand 1": (lambda node: _tiled(node).pack_at("j", 1), 0),
    "'j' of C is parallelized, and 'i' is not": (
        lambda node: _of_columns(node).parallelize(["j"]),
        0,
    ),
    "'j' of C is not over rows of the result": (
        lambda node: _of_columns(node).distribute({"j": "dpu"}),
        4,
    ),
    "'i' of C gives a DPU 32 rows, and on 4 DPUs each has 16": (
        lambda node: node.tile("i", {"i1": 32}).distribute({"i": "dpu"}),
        2,
    ),
    "the schedule of C is for 8 DPUs, of which there are 4": (
        lambda node: node.tile("i", {"i1": 8}).distribute({"i": "dpu"}),
        8,
    ),
    "C is split, and a kernel of DPUs is one loop nest": (
        lambda node: node.split("i", {"low": 0, "high": 32}),
        0,
    ),
    "the tiles of C have 24576 bytes, and a tasklet has 6656 bytes of WRAM for them": (
        lambda node: node.tile("i", {"i1": 16}).tile("k", {"k1": 64}).tile("j", {"j1": 64}),
        0,
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_unsupported_schedules_are_refused_by_name(dpus: UpmemDevice, text: str) -> None:
    change, mesh = REFUSED[text]
    graph = _matmul()
    with pytest.raises(UserError) as caught:
        xtc.compile(graph, target=dpus, schedule=_schedule(graph, dpus, change, mesh))
    assert text in str(caught.value)
    if "WRAM for them" in text:
        assert "a tile of 64x64xi32 has 16384 bytes" in str(caught.value)


def test_a_chain_on_the_same_rows_is_one_launch(dpus: UpmemDevice) -> None:
    x, v = O.tensor((30, 12), "int32", name="x"), O.tensor((12, 8), "int32", name="v")
    w = O.tensor((8, 6), "int32", name="w")
    with O.graph(name="layers") as graph:
        O.matmul(O.relu(O.matmul(x, v)), w)
    before = dict(dpus.counters())
    assert _is_right(graph.graph, dpus)
    spent = {name: value - before[name] for name, value in dpus.counters().items()}
    assert spent["upmem.LAUNCHES"] == 1
    assert spent["upmem.BYTES_EXCHANGED"] == 0
    assert spent["upmem.BYTES_TO_DEVICE"] == 4 * (30 * 12 + 4 * (12 * 8 + 8 * 6))
    assert spent["upmem.BYTES_FROM_DEVICE"] == 4 * 30 * 6


def test_other_rows_are_another_launch(dpus: UpmemDevice) -> None:
    x = O.tensor((16, 16), "int32", name="x")
    with O.graph(name="squares") as graph:
        O.matmul(x, O.matmul(x, x))
    before = dict(dpus.counters())
    assert _is_right(graph.graph, dpus)
    assert dpus.counters()["upmem.LAUNCHES"] - before["upmem.LAUNCHES"] == 2
    assert dpus.counters()["upmem.BYTES_EXCHANGED"] > before["upmem.BYTES_EXCHANGED"]


def test_a_sharded_array_is_sent_in_shards(dpus: UpmemDevice) -> None:
    x = O.tensor((64, 8), "int32", name="x", device=dpus)
    with O.graph(name="positive") as graph:
        O.relu(x, name="y", device=dpus)
    values = np.arange(-256, 256, dtype=np.int32).reshape(64, 8)
    with xtc.compile(graph, target=dpus) as module, dpus.array(values, shards=4) as array:
        before = dict(dpus.counters())
        assert (module(array).numpy() == np.maximum(values, 0)).all()
        assert dpus.counters()["upmem.BYTES_TO_DEVICE"] - before["upmem.BYTES_TO_DEVICE"] == 2048
    with pytest.raises(UserError, match="shards of 416 of 2048 bytes do not fit 4 DPUs"):
        dpus.array(values, shards=5)


def test_loop_counters_cover_all_tiles(dpus: UpmemDevice) -> None:
    x = O.tensor((48, 9), "int32", name="x")
    with O.graph(name="sums") as graph:
        O.cumsum(x, axis=1)
    assert _is_right(graph.graph, dpus)
