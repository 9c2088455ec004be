# SPDX-License-Identifier: Apache-2.0
"""schedule-contractions: schedules contractions without a schedule on blocks and threads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import graph_node, operations_with
from xtc.ir.analysis.structured import Structured, shape_of
from xtc.ir.attributes import LOOP_DIMS, LOOP_SCHEDULE, PADDED
from xtc.ir.builders.slices import extract_slice
from xtc.ir.mlir import ArrayAttr, InsertionPoint, Operation, StringAttr, UnitAttr
from xtc.ir.passes import SchedulingPass
from xtc.loops import NestLoop
from xtc.loops.nest_attribute import write_loops
from xtc_passes.tensor._scheduled import schedule_line
from xtc_targets.nvgpu.passes._contractions.core_tiles import (
    CoreContraction,
    Tile,
    core_contraction,
    tile_of,
)
from xtc_targets.nvgpu.passes._contractions.zero_padding import padded
from xtc_targets.nvgpu.passes._nest_pass import NestPass

_K_UNROLL = 4  # K extent that a thread accumulates per loop iteration


@dataclass(frozen=True)
class ScheduleContractions(NestPass, SchedulingPass):
    """Choose tiles of blocks and of threads, and write them as a schedule.

    Before:
        linalg.matmul ins(%a, %b : tensor<2048x2048xf32>, ..) outs(%c : ..)
    After:
        linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = [{axis = "i", parallelize},
          {axis = "j", parallelize}, {axis = "k", pack = array<i64: 0, 1>}, ..]}

    Tiles are as large as possible while all multiprocessors are busy. Sizes that tiles do not
    divide are first padded with zeros. If padding would double the work, or if there is too little
    work, the operation keeps its loops.

    Attributes:
        sms: multiprocessors that run a kernel.
    """

    name: ClassVar[str] = "schedule-contractions"

    def schedules_in(self, module: Operation) -> dict[str, str]:
        """The schedules of contractions without padding, whose loops are those of the graph."""
        return {
            node: schedule_line(op)
            for op in operations_with(module, LOOP_SCHEDULE)
            if (node := graph_node(op)) is not None and PADDED not in op.attributes
        }

    def rewrite(self, nest: Structured) -> None:
        contraction = core_contraction(nest)
        tile = None if contraction is None else tile_of(contraction, self.sms)
        if contraction is None or tile is None:
            return
        with nest.op.location:
            filled = _filled_up(contraction, tile)
        _write(filled, tile)


def _filled_up(contraction: CoreContraction, tile: Tile) -> CoreContraction:
    """Replace `contraction` by the contraction of padded operands."""
    nest = contraction.nest
    steps = {contraction.m: tile.rows, contraction.n: tile.columns, contraction.k: tile.depth}
    sizes = [-(-size // steps.get(n, 1)) * steps.get(n, 1) for n, size in enumerate(nest.extents)]
    if tuple(sizes) == nest.extents:
        return contraction
    op = nest.op
    for number, row in enumerate(nest.indices):
        wide = [sizes[index.loop] for index in row if index.loop is not None]
        op.operands[number] = padded(op.operands[number], wide, op)
    op.attributes[PADDED] = UnitAttr.get()
    old = op.results[0]
    shape, uses = shape_of(old), [(use.owner, use.operand_number) for use in old.uses]
    old.set_type(op.operands[nest.destination].type)
    part = extract_slice(old, [0] * len(shape), shape, InsertionPoint.after(op))
    for user, number in uses:
        user.operands[number] = part
    return replace(contraction, nest=replace(nest, extents=tuple(sizes)))


def _write(contraction: CoreContraction, tile: Tile) -> None:
    op = contraction.nest.op
    names = _names(op, len(contraction.nest.extents))
    op.attributes[LOOP_DIMS] = ArrayAttr.get([StringAttr.get(name) for name in names])
    write_loops(op, _loops(contraction, tile, names))


def _names(op: Operation, loops: int) -> list[str]:
    if LOOP_DIMS in op.attributes:
        return [StringAttr(name).value for name in ArrayAttr(op.attributes[LOOP_DIMS])]
    return [f"d{loop}" for loop in range(loops)]


def _loops(contraction: CoreContraction, tile: Tile, names: list[str]) -> tuple[NestLoop, ...]:
    """The loops over blocks, tiles of K and threads, and within a thread."""
    m, n, k = (names[loop] for loop in (contraction.m, contraction.n, contraction.k))
    grid = [
        NestLoop(names[b], parallelize=True) for b in contraction.batch if contraction.size(b) > 1
    ]
    threads = []
    for loop, name, step in ((contraction.m, m, tile.rows), (contraction.n, n, tile.columns)):
        whole = NestLoop(name, parallelize=True)
        if contraction.size(loop) > step:
            grid.append(whole)
            whole = NestLoop(name, step, parallelize=True)
        threads.append(whole)
    own = [NestLoop(m, tile.own_rows, unroll=tile.own_rows)]
    if tile.own_columns > 1:
        own.append(NestLoop(n, tile.own_columns, vectorize=True))
    operands = contraction.a, contraction.b
    if contraction.size(contraction.k) == tile.depth:  # one tile per operand
        grid[-1] = replace(grid[-1], pack=operands)
        return (*grid, *threads, NestLoop(k, unroll=_K_UNROLL), *own)
    inner = NestLoop(k, tile.depth, unroll=_K_UNROLL)
    return (*grid, NestLoop(k, pack=operands), *threads, inner, *own)
