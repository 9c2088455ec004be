# SPDX-License-Identifier: Apache-2.0
"""The default schedule of contractions: matmul in all forms, and convolution.

The register tile is some rows of a few vectors of the result; rows are those of a matmul, and the
pixels of a convolution, along whichever loop gives enough of them. Around it run blocks of the sum,
so that a panel of the operand that has the vectors stays in the second-level cache and its part
under the register tile in the first; the panel is copied where it is read often enough to pay, so
that neighbouring rows are neighbours in memory. Panels of a constant are copied before there is any
call (`pack-constants`), and each is fetched from memory while the one before is read
(`prefetch-panels`). Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM
TOMS 34(3), 2008, has the same blocks with both operands copied. Where few rows share a large panel,
as in a vector times a matrix, memory is the limit: long parts of some rows of the panel are then
read side by side, and nothing twice.
A panel that is computed from fewer bytes, such as weights of few bits, is computed block by block
in the loops that read it, so that memory is read as narrow as it is; where few rows read it, in
registers (`inline-producers`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xtc.ir.analysis.contractions import contraction
from xtc.ir.analysis.linalg_ops import is_constant
from xtc.ir.analysis.structured import Structured, element_bits, even_part
from xtc.ir.attributes import LOOP_DIMS
from xtc.ir.mlir import ArrayAttr, FloatType, StringAttr
from xtc.loops import ALL, NestLoop
from xtc_targets.host.passes._register_tiles import Processor, rows_side_by_side
from xtc_targets.host.passes._unpacked import is_unpacked

_VECTORS = 2  # of a row of the register tile at least
_WIDE = (_VECTORS, 3, 4)  # where many rows share them: fewer loads for as many multiply-adds
_ACCUMULATORS = 8  # vectors of the register tile at least: multiply-adds in flight
_ENOUGH_ROWS = 6  # of a register tile: a vector of the panel is then read for six multiply-adds
_SHARING_ROWS = 8  # that read a vector of a computed panel from registers, at most
_FEW_TILES = 4  # register tiles along the rows below which a copy of the panel does not pay
_STREAMS = 16  # rows of a large panel that are read side by side
_STREAM_BYTES = 2048  # of a row that are read at a stretch, where nothing else limits them
_MANY_ROWS = 512  # that share a panel: its copy costs nothing beside the multiply-adds
_SMALL_WORK = 16384  # multiply-adds below which loops as they are do as well
_PANEL_VECTORS = 8  # of a row of the panel that is copied: so long a row is read at full speed
_PARALLEL_WORK = 1 << 20  # multiply-adds that are worth waking threads for
_PARALLEL_BYTES = 1 << 20  # of a panel that few rows read, which takes memory as long
PARTIAL_SUM = 4096  # terms of a long contraction that are added up one after the other
_MANY_PARTS = 8  # parallel iterations that share out well among a few threads


@dataclass(frozen=True)
class ContractionShape:
    """One contraction: result[batch, row, column] += panel[batch, k, column] * other.

    Attributes:
        names: of the loops.
        extents: of the loops.
        batch: loops of the result that the panel has too, outermost first.
        rows: loops that the panel does not have, outermost first, without the next.
        row: the one of them along which a register tile has rows; None where there is one row.
        column: the loop along neighbouring elements of the result and of the panel.
        reduction: loops that are summed over, outermost first.
        panel: the number of the operand with the vectors.
        bytes: of what one column has of it in one iteration of the reduction.
        row_bytes: from what a row reads of the other operand to what the next one reads.
        is_copied: whether the panel is copied in any case, at best where it is read.
        is_constant: whether the panel's values are known, so that copying it costs nothing.
        is_computed: whether the panel is computed from fewer bytes, at best where it is read.
    """

    names: tuple[str, ...]
    extents: tuple[int, ...]
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    row: int | None
    column: int
    reduction: tuple[int, ...]
    panel: int
    bytes: int
    row_bytes: int
    is_copied: bool = False
    is_constant: bool = False
    is_computed: bool = False

    @property
    def columns(self) -> int:
        """Columns of the result."""
        return self.extents[self.column]

    @property
    def height(self) -> int:
        """Rows along the loop that a register tile has rows of."""
        return 1 if self.row is None else self.extents[self.row]

    @property
    def shared(self) -> int:
        """Rows that read the same panel."""
        return self.height * self.size(self.rows)

    @property
    def held(self) -> int:
        """Bytes of all of the operand with the vectors that rows share."""
        return self.size((*self.reduction, self.column)) * self.bytes

    def size(self, loops: Sequence[int]) -> int:
        """How many iterations the loops have together."""
        return math.prod(self.extents[loop] for loop in loops)


def contraction_nest(nest: Structured, processor: Processor) -> list[NestLoop] | None:
    """The loops for a contraction, outermost first; None for other operations and small ones."""
    shape = _shape(nest)
    if shape is None or math.prod(shape.extents) < _SMALL_WORK:
        return None
    return contraction_items(shape, processor)


def _shape(nest: Structured) -> ContractionShape | None:
    found = contraction(nest)
    if found is None or any(found.widenings) or not _is_float(nest):
        return None
    found, column = found.with_columns(nest.vector_loop), nest.vector_loop
    if found is None or column is None:
        return None
    panel = found.b
    if any(index.loop is None for index in nest.indices[panel]):
        return None
    others = [loop for loop in nest.out if loop != column]
    rows = [loop for loop in others if loop in found.roles.m]
    long = [loop for loop in rows if nest.extents[loop] > 1]
    row = max(long, key=lambda loop: (min(nest.extents[loop], _ENOUGH_ROWS), loop), default=None)
    return ContractionShape(
        loop_names(nest),
        nest.extents,
        tuple(loop for loop in others if loop not in rows),
        tuple(loop for loop in rows if loop != row),
        row,
        column,
        nest.reductions,
        panel,
        element_bits(nest.op.operands[panel]) // 8,
        0 if row is None else nest.step_bytes(found.a, row),
        is_constant=is_constant(nest.op.operands[panel]),
        is_computed=is_unpacked(nest.op.operands[panel]),
    )


def _is_float(nest: Structured) -> bool:
    return isinstance(nest.op.operands[nest.destination].type.element_type, FloatType)


def loop_names(nest: Structured) -> tuple[str, ...]:
    """What the loops of an operation are called."""
    return tuple(StringAttr(name).value for name in ArrayAttr(nest.op.attributes[LOOP_DIMS]))


@dataclass(frozen=True)
class _Blocks:
    """Sizes of the blocks.

    Attributes:
        rows: of the register tile.
        width: columns of the register tile.
        columns: of a panel that all rows read in turn; 0 where each row reads all columns.
        is_copied: whether the operand with the vectors is copied.
        outer: loops of the sum around the panel.
        depth: iterations of the last loop in `outer` in a panel; 0 where all reduction loops are
            whole.
    """

    rows: int
    width: int
    columns: int
    is_copied: bool
    outer: tuple[int, ...]
    depth: int


def _blocks(shape: ContractionShape, processor: Processor) -> _Blocks:
    lanes = processor.lanes(8 * shape.bytes)
    rows, vectors = processor.tile(
        shape.height, _vectors(shape, processor), rows_side_by_side(shape.row_bytes)
    )
    width = min(shape.columns, vectors * lanes)
    if shape.is_computed and shape.shared <= min(rows, _SHARING_ROWS):
        return _Blocks(rows, width, width, False, *_split_reduction(shape, _STREAMS))
    if shape.is_constant and shape.columns > width:
        is_small = shape.held <= processor.l2_bytes // 8
        depth = _panel_depth(shape, width, processor)
        outer = shape.reduction if depth else ()
        return _Blocks(rows, width, 0 if is_small else width, True, outer, depth)
    parts = _MANY_PARTS if processor.parallel else 1
    if _pays_to_copy(shape, rows, width, processor):
        panel = processor.l2_bytes // 4 // shape.bytes
        most = min(_PANEL_VECTORS * lanes, shape.columns // max(parts, 2))
        # A panel with the whole reduction leaves finished sums in registers.
        whole = panel // shape.size(shape.reduction)
        columns = max(width, (min(most, whole) if whole >= 2 * width else most) // width * width)
        deepest = min(max(1, panel // columns), PARTIAL_SUM)
        return _Blocks(rows, width, columns, True, *_split_reduction(shape, deepest))
    if shape.columns <= width or shape.held <= processor.l2_bytes:
        return _Blocks(rows, width, 0, False, (), 0)
    columns = max(width, -(-shape.columns // parts // width) * width)
    while shape.shared == 1 and _can_double(shape, columns):
        columns *= 2
    return _Blocks(rows, width, columns, False, *_split_reduction(shape, _STREAMS))


def _vectors(shape: ContractionShape, processor: Processor) -> list[int]:
    """How many vectors a row of the register tile may have."""
    lanes = processor.lanes(8 * shape.bytes)
    if shape.columns <= _VECTORS * lanes:
        return [-(-shape.columns // lanes)]
    if shape.shared < _ACCUMULATORS // _VECTORS:
        return [min(-(-shape.columns // lanes), _ACCUMULATORS // shape.shared)]
    even = [count for count in _WIDE if shape.columns % (count * lanes) == 0]
    least = _MANY_PARTS if processor.parallel else 1
    shared = [
        count
        for count in even
        if shape.columns >= least * count * lanes
        and (not shape.is_constant or _fits(shape, count * lanes, processor))
    ]
    return shared or [_VECTORS]


def _fits(shape: ContractionShape, width: int, processor: Processor) -> bool:
    """Whether a panel, and the next one, which is prefetched, stay in the second-level cache."""
    depth = _panel_depth(shape, width, processor) or shape.size(shape.reduction)
    return depth * width * shape.bytes <= processor.l2_bytes // 3


def _panel_depth(shape: ContractionShape, width: int, processor: Processor) -> int:
    """The iterations of K in a panel of a constant; 0 where a panel has all of them.

    Every register tile along the rows reads the panel again, while the next panel is prefetched. If
    the panel exceeds a quarter of the second-level cache, parts of it are read from behind that
    cache each time: on an Intel Xeon (family 6, model 207) 128 x 2048 x 8192 reached 111 GFLOP/s,
    and 157 in panels of 1,024 iterations.
    """
    row, extent = width * shape.bytes, shape.size(shape.reduction)
    is_one_loop = extent == shape.size(shape.reduction[-1:])
    if not is_one_loop or extent * row <= processor.l2_bytes // 4:
        return 0
    depth = even_part(extent, min(processor.l2_bytes // 8 // row, PARTIAL_SUM))
    return depth if extent % depth == 0 else 0


def _can_double(shape: ContractionShape, columns: int) -> bool:
    """Whether parts of rows that are twice as long suit two threads, and leave no rest."""
    longest = min(_STREAM_BYTES // shape.bytes, shape.columns // 2)
    return 2 * columns <= longest and shape.columns % (2 * columns) == 0


def _pays_to_copy(shape: ContractionShape, rows: int, width: int, processor: Processor) -> bool:
    few = shape.columns <= width or shape.shared < _FEW_TILES * rows
    if few and not (shape.is_copied or shape.is_computed):
        return False
    if shape.is_computed or shape.held > processor.l2_bytes // 2:
        return True
    # In the first-level cache, rows that are far apart would displace each other.
    far = shape.columns > 2 * width
    return shape.held > processor.l1_bytes and far and shape.shared >= _MANY_ROWS


def _split_reduction(shape: ContractionShape, deepest: int) -> tuple[tuple[int, ...], int]:
    """The reduction loops around a panel of `deepest` iterations, and the block of the last one."""
    outer = list(shape.reduction)
    while outer and shape.size(shape.reduction[len(outer) - 1 :]) <= deepest:
        outer.pop()
    if len(outer) < len(shape.reduction):
        return tuple(outer), 0
    extent = shape.extents[outer[-1]]
    return tuple(outer), -(-extent // -(-extent // deepest))


def contraction_items(shape: ContractionShape, processor: Processor) -> list[NestLoop]:
    """The loops, outermost first."""
    blocks = _blocks(shape, processor)
    is_long = math.prod(shape.extents) >= _PARALLEL_WORK or shape.held >= _PARALLEL_BYTES
    shared = processor.parallel and is_long
    loops = _around(shape, blocks, processor, shared=shared)
    if shape.is_computed and loops:
        loops[-1] = replace(loops[-1], fuse=(shape.panel,))
    elif blocks.is_copied:
        loops[-1] = replace(loops[-1], pack=(shape.panel,))
    if blocks.columns:
        if blocks.columns > blocks.width:
            loops.append(_tile(shape, shape.column, blocks.columns))
        loops += _whole(shape, shape.rows)
    return loops + _inside(shape, blocks)


def _around(
    shape: ContractionShape, blocks: _Blocks, processor: Processor, *, shared: bool
) -> list[NestLoop]:
    """The loops around a panel, and those over rows where there is none for them to share."""
    numbers = list(shape.batch) if blocks.columns else _by_rows(shape, processor)
    loops = _whole(shape, numbers, shared=shared)
    if shape.columns > (blocks.columns or blocks.width):
        loops.append(NestLoop(shape.names[shape.column], parallelize=shared))
    return loops + _whole(shape, blocks.outer)


def _by_rows(shape: ContractionShape, processor: Processor) -> list[int]:
    """All loops of the result around a register tile, without the one along its rows.

    Groups of a convolution are parts of the same pixels: those of a row follow each other where the
    filters of all of them stay in the second-level cache.
    """
    filters = shape.held * shape.size(shape.batch)
    if filters <= processor.l2_bytes // 4:
        return [*shape.rows, *shape.batch]
    return [*shape.batch, *shape.rows]


def _inside(shape: ContractionShape, blocks: _Blocks) -> list[NestLoop]:
    """The loops around a register tile, and the tile."""
    loops = []
    if shape.row is not None and shape.height > blocks.rows:
        loops.append(NestLoop(shape.names[shape.row]))
    if blocks.depth:
        loops.append(_tile(shape, blocks.outer[-1], blocks.depth))
    for loop in shape.reduction[len(blocks.outer) :]:
        loops += _whole(shape, [loop])
        if shape.extents[loop] > PARTIAL_SUM:
            loops.append(_tile(shape, loop, even_part(shape.extents[loop], PARTIAL_SUM)))
    if shape.row is not None:
        rows = _tile(shape, shape.row, blocks.rows)
        loops.append(replace(rows, unroll=ALL if blocks.rows > 1 else 0))
    return [*loops, replace(_tile(shape, shape.column, blocks.width), vectorize=True)]


def _tile(shape: ContractionShape, loop: int, size: int) -> NestLoop:
    """A tile of a loop, or the whole loop where it has no more iterations."""
    return NestLoop(shape.names[loop], None if shape.extents[loop] <= size else size)


def _whole(
    shape: ContractionShape, loops: Sequence[int], *, shared: bool = False
) -> list[NestLoop]:
    """Loops over all iterations, without those of one."""
    names = [shape.names[loop] for loop in loops if shape.extents[loop] > 1]
    return [NestLoop(name, parallelize=shared) for name in names]
