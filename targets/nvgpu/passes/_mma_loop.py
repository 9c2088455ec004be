# SPDX-License-Identifier: Apache-2.0
"""The loop of a block over the tiles of its factors: copies run ahead, mma.sync sums up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.mlir import (
    Attribute,
    DenseI32ArrayAttr,
    F32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Type,
    Value,
)
from xtc_targets.nvgpu.passes._kernels import BARRIER
from xtc_targets.nvgpu.passes._mma_contraction import STEP_BYTES, Kind
from xtc_targets.nvgpu.passes._mma_tiling import Tiling
from xtc_targets.nvgpu.passes._panel import Panel
from xtc_targets.nvgpu.passes._panel_copies import PanelCopies
from xtc_targets.nvgpu.passes._panel_reads import GROUP, PanelReads, part
from xtc_targets.nvgpu.passes._thread_code import Code, Loop, Number

SUMS = 4
"""Sums that a lane has of each 16 x 8: two neighbours in a row, and two 8 rows below."""

_STRUCT = "!llvm.struct<(f32, f32, f32, f32)>"


@dataclass(frozen=True)
class ThreadPlace:
    """Where a thread is in its block, and which part of the block's tile its warp has."""

    thread: Value
    lane: Value
    row: Number
    column: Number


class ProductLoop:
    """Sums of the products of one warp's part of a block's tile.

    Stage s of shared memory has tile s, s + stages, ... of both factors. While a tile is computed
    with, the next ones are on their way; fragments of a step are loaded before the mma of the step
    before, also across tiles:

        begin to copy tiles 0 .. stages - 2
        wait for tile 0, barrier, load its fragments of step 0
        for each tile:
            begin to copy the tile stages - 1 ahead, to the stage that all have left
            for each step: load the fragments of the next one, mma
            before those of the next tile: wait until it is there, barrier
    """

    def __init__(
        self, code: Code, tiling: Tiling, panels: tuple[Panel, Panel], place: ThreadPlace
    ) -> None:
        self.code, self.tiling, self.kind = code, tiling, panels[0].kind
        self.tiles = -(-panels[0].source.k_extent // panels[0].terms)
        self.steps = tiling.k_bytes // STEP_BYTES
        self.copies = [PanelCopies(one, code, place.thread, tiling.threads) for one in panels]
        firsts = (place.row, place.column)
        self.groups = [
            size // warps // GROUP
            for size, warps in zip((tiling.m, tiling.n), tiling.warps, strict=True)
        ]
        self.reads = [
            PanelReads(panel, code, place.lane, first, is_a=number == 0)
            for number, (panel, first) in enumerate(zip(panels, firsts, strict=True))
        ]
        for one, groups in zip(self.reads, self.groups, strict=True):
            one.prepare(groups, self.steps)

    def write(self, shared: Value) -> list[list[list[Value]]]:
        """The sums of each 16 x 8 of the warp's part; `shared` is where shared memory begins."""
        code, stages, nbytes = self.code, self.tiling.stages, self.tiling.stage_bytes
        for stage in range(min(stages - 1, self.tiles)):
            self._copy(stage, code.moved(shared, stage * nbytes))
        for _ in range(stages - 1 - self.tiles):
            code.op("nvvm.cp.async.commit.group")
        self._wait()
        fragments = self._fragments(shared, 0)
        zero = code.value("arith.constant", F32Type.get(), (), {"value": FloatAttr.get_f32(0.0)})
        sums = [zero] * (SUMS * 2 * self.groups[0] * self.groups[1])
        # The stage that is read first, and the one that was read before it and is written next.
        places = [code.constant(0), code.constant((stages - 1) * nbytes)]
        with code.loop(0, self.tiles, 1, [*places, *fragments, *sums]) as loop:
            self._turn(loop, shared, len(fragments))
        return self._arranged(loop.results[2 + len(fragments) :])

    def _turn(self, loop: Loop, shared: Value, count: int) -> None:
        code, tiling = self.code, self.tiling
        read, written = loop.carried[:2]
        fragments, sums = loop.carried[2 : 2 + count], loop.carried[2 + count :]
        ahead = code.add(loop.index, tiling.stages - 1)
        with code.when(code.less(ahead, self.tiles)):
            self._begin(ahead, code.moved(shared, written))
        code.op("nvvm.cp.async.commit.group")
        after = code.add(read, tiling.stage_bytes)
        last = code.less(after, tiling.stages * tiling.stage_bytes)
        after = code.select(last, after, 0)
        for step in range(self.steps):
            if step + 1 < self.steps:
                following = self._fragments(code.moved(shared, read), step + 1)
            else:
                self._wait()
                following = self._fragments(code.moved(shared, after), 0)
            sums = self._multiply(fragments, sums)
            fragments = following
        loop.following = [after, read, *fragments, *sums]

    def _copy(self, tile: Number, stage: Value) -> None:
        self._begin(tile, stage)
        self.code.op("nvvm.cp.async.commit.group")

    def _begin(self, tile: Number, stage: Value) -> None:
        for one in self.copies:
            one.issue(self.code, tile, stage)

    def _wait(self) -> None:
        """Until all have the oldest tile that was not waited for, and have left the one before."""
        count = IntegerAttr.get(IntegerType.get_signless(32), self.tiling.stages - 2)
        self.code.op("nvvm.cp.async.wait.group", attributes={"n": count})
        self.code.op(BARRIER)

    def _fragments(self, stage: Value, step: int) -> list[Value]:
        return [
            register
            for one, groups in zip(self.reads, self.groups, strict=True)
            for group in range(groups)
            for register in one.fragment(self.code, stage, group, step)
        ]

    def _multiply(self, fragments: Sequence[Value], sums: Sequence[Value]) -> list[Value]:
        rows, columns = self.groups[0], 2 * self.groups[1]
        a = [fragments[4 * row : 4 * row + 4] for row in range(rows)]
        rest = fragments[4 * rows :]
        b = [rest[2 * column : 2 * column + 2] for column in range(columns)]
        made: list[Value] = []
        for row in range(rows):
            for column in range(columns):
                first = SUMS * (row * columns + column)
                made += mma(self.code, self.kind, a[row], b[column], sums[first : first + SUMS])
        return made

    def _arranged(self, sums: Sequence[Value]) -> list[list[list[Value]]]:
        rows, columns = self.groups[0], 2 * self.groups[1]
        tiles = [list(sums[first : first + SUMS]) for first in range(0, len(sums), SUMS)]
        return [tiles[row * columns : (row + 1) * columns] for row in range(rows)]


def mma(
    code: Code, kind: Kind, a: Sequence[Value], b: Sequence[Value], sums: Sequence[Value]
) -> list[Value]:
    """The sums of 16 x 8, with the products of one step added."""
    type = Attribute.parse(f"#nvvm.mma_type<{kind.name}>")
    attributes = {
        "layoutA": Attribute.parse("#nvvm.mma_layout<row>"),
        "layoutB": Attribute.parse("#nvvm.mma_layout<col>"),
        "multiplicandAPtxType": type,
        "multiplicandBPtxType": type,
        "operandSegmentSizes": DenseI32ArrayAttr.get([len(a), len(b), len(sums)]),
        "shape": Attribute.parse(f"#nvvm.shape<m = 16, n = 8, k = {kind.step}>"),
    }
    made = code.value("nvvm.mma.sync", Type.parse(_STRUCT), [*a, *b, *sums], attributes)
    return [part(code, made, number, F32Type.get()) for number in range(SUMS)]
