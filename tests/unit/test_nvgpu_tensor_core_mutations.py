# SPDX-License-Identifier: Apache-2.0
"""The simulator detects every missing wait and barrier of a kernel on tensor cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import xtc
from tests.unit.tensor_core_contractions import Shape, bias_and_relu, matmul_graph, with_sms
from xtc.core.errors import DeviceFault
from xtc.evaluate import MismatchError
from xtc.ir.mlir import IntegerAttr, IntegerType, Operation, all_operations
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions, pipeline
from xtc_targets.nvgpu.passes._kernels import BARRIER
from xtc_targets.nvgpu.passes.lower_tiles import LowerTiles

pytestmark = pytest.mark.slow

COPY, COMMIT, WAIT = (
    f"nvvm.cp.async.{name}" for name in ("shared.global", "commit.group", "wait.group")
)
FENCE = "nvvm.fence.proxy"
LOAD, MMA = "nvvm.ldmatrix", "nvvm.mma.sync"
NUMBERS = {BARRIER: 4, COPY: 24, COMMIT: 6, WAIT: 2, LOAD: 10, MMA: 8}
"""How many of each there are in the kernel with the smallest tiles: before, in and after a loop."""

SHAPE = Shape(64, 64, 6 * 64)


@pytest.fixture(scope="module")
def gpu() -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions()) as device:
        yield device


def drop(op: Operation) -> None:
    """Erase an operation."""
    for result in op.results:
        for use in list(result.uses):
            drop(use.owner.operation)
    op.erase()


def wait_for_less(op: Operation) -> None:
    i32 = IntegerType.get_signless(32, op.context)
    op.attributes["n"] = IntegerAttr.get(i32, IntegerAttr(op.attributes["n"]).value + 1)


def found(module: Operation, name: str) -> list[Operation]:
    return [op for op in all_operations(module) if op.name == name]


def damage(monkeypatch: pytest.MonkeyPatch, change: Callable[[Operation], None]) -> None:
    """Apply `change` to the device's module after kernels are generated."""

    class Damaged(LowerTiles):
        def run(self, module: Operation) -> None:
            super().run(module)
            change(module)

    monkeypatch.setattr(pipeline, "LowerTiles", Damaged)


def test_the_kernel_has_the_mutated_operations(
    gpu: NvgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: dict[str, int] = {}
    damage(monkeypatch, lambda module: counts.update({n: len(found(module, n)) for n in NUMBERS}))
    with xtc.compile(matmul_graph(SHAPE, "float16"), target=gpu) as module:
        module.check()
    assert counts == NUMBERS


WARPGROUP_NUMBERS = {BARRIER: 3, COMMIT: 4, WAIT: 1, FENCE: 1}
"""Of the kernel whose tiles warpgroups multiply that also copy them. The simulator multiplies at
once, when all 128 threads have come: what a missing wait, or a barrier before or after
multiplications, does is seen by the interpreter of tile kernels alone."""


MUTATIONS = [
    *((BARRIER, number, drop) for number in range(NUMBERS[BARRIER])),
    *((COMMIT, number, drop) for number in range(NUMBERS[COMMIT])),
    *((WAIT, number, drop) for number in range(NUMBERS[WAIT])),
    *((WAIT, number, wait_for_less) for number in range(NUMBERS[WAIT])),
    *((COPY, number, drop) for number in (0, NUMBERS[COPY] - 1)),
]


@pytest.mark.parametrize(("name", "number", "change"), MUTATIONS)
def test_every_synchronization_is_needed(
    gpu: NvgpuDevice,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    number: int,
    change: Callable[[Operation], None],
) -> None:
    damage(monkeypatch, lambda module: change(found(module, name)[number]))
    with (
        xtc.compile(matmul_graph(SHAPE, "float16"), target=gpu) as module,
        pytest.raises((MismatchError, DeviceFault)),
    ):
        module.check()


@pytest.mark.parametrize(
    ("name", "number"),
    [(BARRIER, 2), *((COMMIT, n) for n in range(4)), (WAIT, 0), (FENCE, 0)],
)
def test_every_synchronization_of_warpgroups_is_needed(
    monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    def change(module: Operation) -> None:
        ops = found(module, name)
        assert len(ops) == WARPGROUP_NUMBERS[name]
        drop(ops[number])

    with_sms(monkeypatch, 1)
    damage(monkeypatch, change)
    with (
        NvgpuDevice() as gpu,
        xtc.compile(matmul_graph(SHAPE, "float16"), target=gpu, bulk_pipelines=False) as module,
        pytest.raises((MismatchError, DeviceFault)),
    ):
        module.check()


BULK = "nvvm.cp.async.bulk"
ARRIVE, EXPECT, WAIT_PHASE = (
    f"nvvm.mbarrier.{name}" for name in ("arrive", "arrive.expect_tx", "try_wait.parity")
)
LOAD_TILE, STORE_TILE = f"{BULK}.tensor.shared.cluster.global", f"{BULK}.tensor.global.shared.cta"
BULK_NUMBERS = {
    BARRIER: 5,
    FENCE: 1,
    ARRIVE: 2,
    EXPECT: 1,
    WAIT_PHASE: 2,
    LOAD_TILE: 2,
    STORE_TILE: 1,
    f"{BULK}.wait_group": 2,
    "nvvm.wgmma.wait.group.sync.aligned": 2,
}
"""Of the kernel that is divided, with a bias. Two barriers follow the making of mbarriers, and one
each the copy of the bias, the reading of the last tile's result, and its writing. Without that for
the bias, threads of the simulator have still met at multiplications: the interpreter of tile
kernels sees it (test_nvgpu_contraction_races.py)."""


def test_the_divided_kernel_has_the_mutated_operations(
    gpu: NvgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: dict[str, int] = {}
    with_sms(monkeypatch, 1)
    damage(
        monkeypatch, lambda module: counts.update({n: len(found(module, n)) for n in BULK_NUMBERS})
    )
    with xtc.compile(matmul_graph(BULK_SHAPE, "float16", bias_and_relu), target=gpu) as module:
        module.check()
    assert counts == BULK_NUMBERS


BULK_SHAPE = Shape(192, 192, 6 * 64)
"""Nine tiles of 64 x 64, which two blocks have."""


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *((name, 0) for name in (FENCE, EXPECT, LOAD_TILE, STORE_TILE)),
        *((name, number) for name in (ARRIVE, WAIT_PHASE) for number in (0, 1)),
        *((BARRIER, number) for number in (3, 4)),
        (LOAD_TILE, 1),
        *((f"{BULK}.wait_group", number) for number in (0, 1)),
    ],
)
def test_every_synchronization_of_a_copying_warp_is_needed(
    monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    with_sms(monkeypatch, 1)
    damage(monkeypatch, lambda module: drop(found(module, name)[number]))
    options = NvgpuOptions(sim_schedule="shuffled", sim_races=True)
    with (
        NvgpuDevice(options) as gpu,
        xtc.compile(matmul_graph(BULK_SHAPE, "float16", bias_and_relu), target=gpu) as module,
        pytest.raises((MismatchError, DeviceFault)),
    ):
        module.check()
