# SPDX-License-Identifier: Apache-2.0
"""Clusters of blocks: shared memory that one block fills for all, and remote barriers."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.unit import tile_clusters
from tests.unit.nvgpu_support import image, opened
from tests.unit.test_tile_bulk import needs_ptxas
from tests.unit.tile_mutants import marked, with_line
from xtc import tile
from xtc.core.errors import DeviceFault, UserError
from xtc.tile import int32
from xtc.tile.interpreter.report import DeadlockError, RaceError
from xtc_targets.nvgpu import NvgpuDevice

SOURCE = Path(tile_clusters.__file__)


def shared(module: ModuleType, blocks: int = 2) -> tuple[Any, tuple[Any, ...], Any]:
    """A kernel, its arguments and its expected result."""
    m = 16 * 3 * blocks * 2
    x = np.random.default_rng(0).random((m, 64)).astype(np.float16)
    return module.Shared(blocks), (m, x, np.zeros((blocks, m, 64), np.float16)), x


@pytest.mark.slow
def test_blocks_fill_each_others_shared_memory() -> None:
    program, arguments, x = shared(tile_clusters)
    for run in (program.check, program):
        arguments[-1][...] = 0
        run(*arguments)
        np.testing.assert_array_equal(arguments[-1], np.broadcast_to(x, arguments[-1].shape))


@pytest.mark.slow
def test_operands_of_suspended_blocks_stay_valid() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (n, 104)).astype(np.float16) for n in (150, 64))
    program = tile_clusters.Multiplied()
    for run in (program.check, program):
        c = np.zeros((150, 64), np.float32)
        run(150, 104, a, b, c)
        np.testing.assert_array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))


@pytest.mark.slow
def test_a_cluster_waits_for_later_ones() -> None:
    program = tile_clusters.GridBarrier()
    for run in (program.check, program):
        seen = np.zeros(6, np.int32)
        run(np.zeros(1, np.int32), seen)
        assert seen.tolist() == [6] * 6


@pytest.mark.slow
def test_positions_and_arrivals_in_a_cluster() -> None:
    x = np.random.default_rng(0).random((16, 32)).astype(np.float32)
    program = tile_clusters.Announced()
    row, other = [2000, 2110, 2000, 2110], [2201, 2311, 2201, 2311]
    for run in (program.check, program):
        y, seen = np.zeros((2, 4, 16, 32), np.float32), np.zeros((2, 4), np.int32)
        run(x, y, seen)
        np.testing.assert_array_equal(y, np.broadcast_to(x, y.shape))
        assert seen.tolist() == [row, other]


@pytest.mark.slow
@needs_ptxas
def test_the_ptx_has_cluster_instructions() -> None:
    kernel = tile_clusters.Announced().compile(None, None, None)
    assert ".reqnctapercluster 2, 2, 1" in kernel.ptx
    assert kernel.ptx.count("mapa.shared::cluster") == 8
    assert ".multicast::cluster" in kernel.ptx
    assert "mbarrier.try_wait.parity.acquire.cluster" in kernel.ptx
    assert (
        "fence.proxy.tensormap::generic.acquire.sys" in kernel.ptx
    )  # the host has written the map
    assert "fence.proxy.async.shared::cluster" in kernel.ptx  # threads read what the load fills
    assert kernel.resources.warnings == ()


MUTATIONS = [
    ("begun", RaceError, "missing cluster sync", "after mbarrier.alloc"),
    ("ended", RaceError, "missing cluster sync", "at the end of the kernel"),
    ("empty", RaceError, "", ""),
    ("full", RaceError, "undefined", "copy or store"),
    ("used", DeadlockError, "", ""),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mark", "error", "kind", "hint"), MUTATIONS)
def test_missing_synchronization_is_detected(
    mark: str, error: Any, kind: str, hint: str, tmp_path: Path
) -> None:
    program, arguments, _ = shared(with_line(SOURCE, marked(SOURCE, mark), tmp_path))
    with pytest.raises(error) as caught:
        program.check(*arguments)
    assert "mutant_tile_clusters" in str(caught.value)
    assert hint in str(caught.value)
    assert getattr(caught.value, "kind", "") == kind or not kind


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["begun", "ended", "used"])
def test_the_simulator_faults(mark: str, tmp_path: Path) -> None:
    program, arguments, _ = shared(with_line(SOURCE, marked(SOURCE, mark), tmp_path))
    with NvgpuDevice() as device:
        tile.use_device(device)
        try:
            with pytest.raises(DeviceFault, match=r"cluster|deadlock"):
                program(*arguments)
        finally:
            tile.use_device(None)


class Refused(tile.Script):
    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def __call__(self, blocks: int32):
        self.attrs.blocks = blocks
        self.attrs.cluster_blocks = 9 if self.what == "size" else 2
        self.attrs.warps = 4
        barrier = self.mbarrier.alloc(1)
        if self.what == "rank":
            self.cluster.map_shared_addr(barrier, 2)
        if self.what == "mask":
            self.mbarrier.arrive_and_expect_tx_multicast(barrier, 0, 4)
        if self.what == "wait":
            self.mbarrier.wait(self.cluster.map_shared_addr(barrier, 1), 0)
        if self.what == "group":
            with self.single_warp():
                self.cluster.sync()
        if self.what == "method":
            self.cluster.map_shared(barrier, 0)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("size", "9 blocks"),
        ("rank", "block 2 of a cluster of 2"),
        ("mask", "the mask 0b100 in a cluster of 2"),
        ("wait", "of another block's barrier"),
        ("group", "cluster.sync in a thread group"),
        ("method", "'cluster.map_shared' is not supported"),
    ],
)
def test_invalid_kernels_are_refused(what: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        Refused(what).compile(2)


def test_grids_are_multiples_of_clusters() -> None:
    with pytest.raises(UserError, match="clusters of \\[2, 1, 1\\] blocks do not divide"):
        Refused("nothing").check(3)


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [(1,), (2,), (4, 1, 1), (8,)])
def test_a_launch_sets_the_cluster_size(cluster: tuple[int, ...]) -> None:
    with opened(image("nvgpu_clusters")) as kernels:
        numbers = kernels.device.zeros(8, "int32")
        before = kernels.device.counters()["nvgpu.CLUSTER_SYNCS"]
        kernels.device.launch(kernels.meet, [numbers], cluster=cluster)
        met = kernels.device.counters()["nvgpu.CLUSTER_SYNCS"] - before
        assert numbers.numpy().tolist() == list(range(8))
        assert met == 8 // cluster[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["told", "hinted", "met"])
def test_what_an_arrival_does_not_release_is_a_race(name: str) -> None:
    """Of a block that has read what another one has written, after its arrival."""
    with opened(image("nvgpu_clusters"), sim_races=True) as kernels:
        number = kernels.device.zeros(1, "int32")
        if name == "told":
            kernels.device.launch(kernels.told, [number])
            return
        with pytest.raises(DeviceFault, match="block"):
            kernels.device.launch(getattr(kernels, name), [number])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cluster", "grid", "what"),
    [
        ((3,), (), "a grid of 8 blocks in dimension 0, and clusters of 3"),
        ((16,), (32,), "a cluster of 16 blocks: 8 are the limit"),
    ],
)
def test_clusters_that_do_not_fit_are_faults(
    cluster: tuple[int, ...], grid: tuple[int, ...], what: str
) -> None:
    with opened(image("nvgpu_clusters")) as kernels, pytest.raises(DeviceFault, match=what):
        kernels.device.launch(kernels.meet, [kernels.device.zeros(32, "int32")], grid, cluster)
