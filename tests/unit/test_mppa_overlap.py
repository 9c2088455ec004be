# SPDX-License-Identifier: Apache-2.0
"""Overlapped transfers are awaited, for any number of iterations; a missing wait is detected."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.unit.mppa_code_support import KERNELS, Array, image_of, launch, lowered, run, stage_text
from xtc.core.errors import DeviceFault
from xtc.ir.mlir import Operation, all_operations, single_threaded_context
from xtc.ir.pipeline import PassRunner, Pipeline
from xtc_targets.mppa.options import MppaOptions
from xtc_targets.mppa.pipeline import device_stages

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]
DEFERRED = {"dma_mode": "deferred"}


@dataclasses.dataclass(frozen=True)
class Loop:
    """`b[i] = 2 a[i] + i` in tiles, in a loop inside the loop over clusters, or in that one alone.

    Attributes:
        tiles: how many there are; each has `size` elements, the last one `last`.
        inner: tiles that one iteration over clusters has, 0 for no loop inside.
        in_place: whether the result is computed in the buffer of the input.
    """

    tiles: int
    size: int = 8
    last: int = 8
    inner: int = 0
    in_place: bool = False

    @property
    def elements(self) -> int:
        return (self.tiles - 1) * self.size + self.last

    @property
    def text(self) -> str:
        n, size = self.elements, self.size
        view = "memref<?xi32, strided<[1], offset: ?>, 1>"
        step = size * max(1, self.inner)
        result = "%x" if self.in_place else "%y"
        body = f"""
          %m = affine.min affine_map<(d0) -> ({size}, -d0 + {n})>(%i)
          %x = memref.alloc(%m) : memref<?xi32, 2>
          {"" if self.in_place else "%y = memref.alloc(%m) : memref<?xi32, 2>"}
          %vx = memref.subview %A[%i] [%m] [1] : memref<{n}xi32, 1> to {view}
          %vy = memref.subview %B[%i] [%m] [1] : memref<{n}xi32, 1> to {view}
          memref.copy %vx, %x : {view} to memref<?xi32, 2>
          scf.forall (%p) in (%m) {{
            %value = memref.load %x[%p] : memref<?xi32, 2>
            %twice = arith.addi %value, %value : i32
            %place = arith.addi %i, %p : index
            %number = arith.index_cast %place : index to i32
            %sum = arith.addi %twice, %number : i32
            memref.store %sum, {result}[%p] : memref<?xi32, 2>
          }} {{mapping = [#gpu.thread<linear_dim_0>]}}
          memref.copy {result}, %vy : memref<?xi32, 2> to {view}"""
        if self.inner:
            body = f"""
          %limit = affine.min affine_map<(d0) -> (d0 + {step}, {n})>(%o)
          %step = arith.constant {size} : index
          scf.for %i = %o to %limit step %step {{ {body} }}"""
        return f"""
        func.func @k(%A: memref<{n}xi32, 1>, %B: memref<{n}xi32, 1>) {{
          scf.forall ({"%o" if self.inner else "%i"}) = (0) to ({n}) step ({step}) {{ {body}
          }} {{mapping = [#gpu.block<linear_dim_0>]}}
          return }}"""

    def check(self, **how: Any) -> dict[str, float]:
        a = np.arange(self.elements, dtype=np.int32)[::-1].copy()
        found = run(self.text, "k", [a, 0 * a], **how)
        assert np.array_equal(found.arrays[1], 2 * a + np.arange(self.elements))
        for event in ("mppa.DMA_GET_BYTES", "mppa.DMA_PUT_BYTES"):
            assert found.counters[f"{event}.cluster.sum.pe.sum"] == 4 * self.elements
        return dict(found.counters)


ONE = {"clusters": 1, **DEFERRED}


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("tiles", [2, 3, 4, 7])
def test_any_number_of_tiles_for_a_cluster(tiles: int, in_place: bool) -> None:
    loop = Loop(tiles, last=5, in_place=in_place)
    assert "memref.dma_start" in stage_text(loop.text, "offloaded", clusters=1)
    assert f"<{3 if in_place else 2}x8xi32" in stage_text(loop.text, "offloaded", clusters=1)
    loop.check(config=ONE)


@pytest.mark.parametrize("inner", [1, 2, 3, 4])
def test_any_number_of_tiles_in_an_inner_loop(inner: int) -> None:
    Loop(11, last=3, inner=inner).check(config=DEFERRED)
    Loop(11, last=3, inner=inner, in_place=True).check(config={**ONE, "pes": 5})


def test_overlap_saves_time_for_inputs_and_for_results() -> None:
    both = [
        Loop(8, 4096, 4096).check(config=ONE, double_buffer=doubled) for doubled in (True, False)
    ]
    cycles = [counted["modelled.mppa.CYCLES"] for counted in both]
    busy = both[0]["modelled.mppa.DMA_BUSY.cluster.sum.pe.sum"]
    assert cycles[0] < 1.2 * busy
    assert cycles[1] > cycles[0] + 7 * 200


def test_a_loop_that_reads_its_own_results_is_unchanged() -> None:
    text = Loop(6).text.replace("%B[%i]", "%A[%i]")
    assert "2x8xi32" not in stage_text(text, "offloaded", clusters=1)
    a = np.arange(48, dtype=np.int32)
    found = run(text, "k", [a, 0 * a], config=ONE)
    assert np.array_equal(found.arrays[0], 3 * a)


def test_a_buffer_that_does_not_fit_twice_is_not_doubled() -> None:
    loop = Loop(3, size=500_000, last=7)
    text = stage_text(loop.text, "offloaded", clusters=1)
    assert "memref<500000xi32, 2>" in text
    assert "x500000xi32" not in text


WAIT = "memref.dma_wait"


def mutated(text: str, number: int, late: bool) -> bytes | None:
    """The image without a wait, or with it after the next loop over PEs; None for none."""
    options = MppaOptions()
    with single_threaded_context():
        module = lowered(text, options, "offloaded")
        wait = [op for op in all_operations(module) if op.name == WAIT][number]
        target = _next_loop(wait) if late else None
        if late and target is None:
            return None
        if target is not None:
            wait.move_after(target)
        else:
            wait.erase()
        PassRunner().run(module, Pipeline(device_stages(options)).after("offloaded"))
        return image_of(module, options)


def _next_loop(wait: Operation) -> Operation | None:
    block = [op.operation for op in wait.block.operations]
    rest = block[block.index(wait) + 1 :]
    return next((op for op in rest if op.name == "scf.forall"), None)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", ["matmul_k_loop", "elementwise_tails"])
def test_a_missing_or_late_wait_is_detected(name: str, late: bool) -> None:
    text = (KERNELS / f"{name}.mlir").read_text()
    waits = stage_text(text, "offloaded").count(WAIT)
    random = np.random.default_rng(2)
    shapes = [(96, 64), (64, 64), (96, 64)] if name == "matmul_k_loop" else [(1003,)] * 3
    arrays: list[Array] = [random.standard_normal(shape, np.float32) for shape in shapes]
    kernel = "mm_mppa0_0" if name == "matmul_k_loop" else "tails"
    good = run(text, kernel, arrays, DEFERRED).arrays[2]
    images = [mutated(text, number, late) for number in range(waits)]
    tried = [code for code in images if code is not None]
    assert len(tried) >= 2
    for code in tried:
        assert not np.array_equal(result(code, kernel, arrays), good)


def result(code: bytes, kernel: str, arrays: list[Array]) -> Array:
    """The last array; an empty one if the simulator reports the missing wait."""
    try:
        return launch(code, kernel, arrays, DEFERRED).arrays[2]
    except DeviceFault as fault:
        if "did not wait for" in str(fault) or "no transfer in flight" in str(fault):
            return np.zeros(0)
        raise
