# SPDX-License-Identifier: Apache-2.0
"""The default schedule of contractions: matmul in all forms, and convolution.

The register tile has several rows of a few vectors of the result. Its rows are the rows of a
matmul, or the pixels of a convolution along whichever loop has enough of them. The loops around it
block the reduction: a panel of the vectorized operand stays in the second-level cache, and the part
that a register tile reads stays in the first. The panel is packed if it is read often enough to
pay; its rows are then contiguous in memory. Panels of a constant are packed at build time
(`pack-constants`), and each is prefetched while the previous one is read (`prefetch-panels`). Goto
and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008, use the
same blocks with both operands packed. If few rows share a large panel, as in a vector times a
matrix, memory bandwidth is the limit: long parts of several rows of the panel are then read side by
side, each once. A panel that is computed from fewer bytes, such as quantized weights, is computed
block by block in the loops that read it, so that only the narrow data is read from memory. If few
rows read it, it is computed in registers (`inline-producers`).
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

_VECTORS = 2  # least width of the register tile
_WIDE = (_VECTORS, 3, 4)  # widths if many rows share a panel: fewer loads per multiply-add
_ACCUMULATORS = 8  # least vectors of the register tile: multiply-adds in flight
_ENOUGH_ROWS = 6  # of a register tile: each vector of the panel then serves six multiply-adds
_SHARING_ROWS = 8  # most rows that read a computed panel from registers
_FEW_TILES = 4  # with fewer register tiles along the rows, packing does not pay
_STREAMS = 16  # rows of a large panel that are read side by side
_STREAM_BYTES = 2048  # most bytes of a row that are read at a stretch
_MANY_ROWS = 512  # of a panel: its packing is then negligible beside the multiply-adds
_SMALL_WORK = 16384  # multiply-adds; smaller contractions gain nothing by a schedule
_PANEL_VECTORS = 8  # of a row of a packed panel: rows of this length are read at full speed
_PARALLEL_WORK = 1 << 20  # multiply-adds from which on threads pay
_PARALLEL_BYTES = 1 << 20  # of a panel that few rows read: reading it takes as long as that work
PARTIAL_SUM = 4096  # elements of a long reduction that are accumulated in sequence
_MANY_PARTS = 8  # parallel iterations that balance the load of a few threads


@dataclass(frozen=True)
class ContractionShape:
    """One contraction: result[batch, row, column] += panel[batch, k, column] * other.

    Attributes:
        names: names of the loops.
        extents: extents of the loops.
        batch: loops that index both the result and the panel, outermost first.
        rows: loops of the result that do not index the panel, outermost first, without `row`.
        row: the loop over the rows of a register tile; None if there is a single row.
        column: the loop over contiguous elements of the result and of the panel.
        reduction: reduction loops, outermost first.
        panel: the number of the vectorized operand.
        bytes: bytes of the panel per column and iteration of the reduction.
        row_bytes: distance in bytes between consecutive rows of the other operand.
        is_copied: whether the panel is copied in any case, best in the loop that reads it.
        is_constant: whether the panel is a constant, which is packed at build time.
        is_computed: whether the panel is computed from fewer bytes, best in the loop that reads it.
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
        """Number of columns of the result."""
        return self.extents[self.column]

    @property
    def height(self) -> int:
        """Extent of the loop over the rows of a register tile."""
        return 1 if self.row is None else self.extents[self.row]

    @property
    def shared(self) -> int:
        """Number of rows that read the same panel."""
        return self.height * self.size(self.rows)

    @property
    def held(self) -> int:
        """Bytes of the vectorized operand that the rows share."""
        return self.size((*self.reduction, self.column)) * self.bytes

    def size(self, loops: Sequence[int]) -> int:
        """The product of the extents of these loops."""
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
    """The names of the loops of an operation."""
    return tuple(StringAttr(name).value for name in ArrayAttr(nest.op.attributes[LOOP_DIMS]))


@dataclass(frozen=True)
class _Blocks:
    """The block sizes of a contraction.

    Attributes:
        rows: rows of the register tile.
        width: columns of the register tile.
        columns: columns of a panel that all rows read in turn; 0 if each row reads all columns.
        is_copied: whether the vectorized operand is packed.
        outer: reduction loops around the panel.
        depth: iterations of the last loop of `outer` per panel; 0 if no reduction loop is blocked.
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
        return _Blocks(rows, width, width, False, *_split_reduction(shape, _streams(shape)))
    if shape.is_constant and shape.columns > width:
        is_small = shape.held <= processor.l2_bytes // 8
        depth = _panel_depth(shape, width, processor)
        outer = shape.reduction if depth else ()
        return _Blocks(rows, width, 0 if is_small else width, True, outer, depth)
    parts = _MANY_PARTS if processor.parallel else 1
    if _pays_to_copy(shape, rows, width, processor):
        panel = processor.l2_bytes // 4 // shape.bytes
        most = min(_PANEL_VECTORS * lanes, shape.columns // max(parts, 2))
        # With the whole reduction in one panel, accumulators never leave registers.
        whole = panel // shape.size(shape.reduction)
        columns = max(width, (min(most, whole) if whole >= 2 * width else most) // width * width)
        deepest = min(max(1, panel // columns), PARTIAL_SUM)
        return _Blocks(rows, width, columns, True, *_split_reduction(shape, deepest))
    if shape.columns <= width or shape.held <= processor.l2_bytes:
        return _Blocks(rows, width, 0, False, (), 0)
    columns = max(width, -(-shape.columns // parts // width) * width)
    while shape.shared == 1 and _can_double(shape, columns):
        columns *= 2
    return _Blocks(rows, width, columns, False, *_split_reduction(shape, _streams(shape)))


def _streams(shape: ContractionShape) -> int:
    """The rows of a large panel that are read side by side.

    The result is loaded and stored around them. A very long reduction has more of them, so that not
    too many of their sums are added in sequence.
    """
    return min(PARTIAL_SUM, max(_STREAMS, shape.size(shape.reduction) // PARTIAL_SUM))


def _vectors(shape: ContractionShape, processor: Processor) -> list[int]:
    """The possible widths of the register tile, in vectors."""
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
    """The iterations of K in a panel of a constant; 0 if a panel has all of them.

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
    """Whether parts of twice the length suit two threads, without a remainder."""
    longest = min(_STREAM_BYTES // shape.bytes, shape.columns // 2)
    return 2 * columns <= longest and shape.columns % (2 * columns) == 0


def _pays_to_copy(shape: ContractionShape, rows: int, width: int, processor: Processor) -> bool:
    few = shape.columns <= width or shape.shared < _FEW_TILES * rows
    if few and not (shape.is_copied or shape.is_computed):
        return False
    if shape.is_computed or shape.held > processor.l2_bytes // 2:
        return True
    # Rows that are far apart would evict each other from the first-level cache.
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
    """The loops around a panel, and the loops over rows if they share no panel."""
    numbers = list(shape.batch) if blocks.columns else _by_rows(shape, processor)
    loops = _whole(shape, numbers, shared=shared)
    if shape.columns > (blocks.columns or blocks.width):
        loops.append(NestLoop(shape.names[shape.column], parallelize=shared))
    return loops + _whole(shape, blocks.outer)


def _by_rows(shape: ContractionShape, processor: Processor) -> list[int]:
    """All loops of the result around a register tile, except the one over its rows.

    The groups of a convolution read parts of the same pixels. All groups of a row are computed in
    turn if all their filters fit into the second-level cache.
    """
    filters = shape.held * shape.size(shape.batch)
    if filters <= processor.l2_bytes // 4:
        return [*shape.rows, *shape.batch]
    return [*shape.batch, *shape.rows]


def _inside(shape: ContractionShape, blocks: _Blocks) -> list[NestLoop]:
    """The loops directly around a register tile, and those of the tile."""
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
    """A tile of a loop, or the whole loop if it has at most `size` iterations."""
    return NestLoop(shape.names[loop], None if shape.extents[loop] <= size else size)


def _whole(
    shape: ContractionShape, loops: Sequence[int], *, shared: bool = False
) -> list[NestLoop]:
    """Loops over whole axes, except those of one iteration."""
    names = [shape.names[loop] for loop in loops if shape.extents[loop] > 1]
    return [NestLoop(name, parallelize=shared) for name in names]
