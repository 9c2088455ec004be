# SPDX-License-Identifier: Apache-2.0
"""The default schedule of sums of products: matmul in all forms, and convolution.

The register tile is some rows of a few vectors of the result; rows are those of a matmul, and the
pixels of a convolution, along whichever loop gives enough of them. Around it run blocks of the sum,
so that a panel of the operand that has the vectors stays in the second-level cache and its part
under the register tile in the first; the panel is copied where it is read often enough to pay, so
that neighbouring rows are neighbours in memory. A panel of a constant is copied before there is any
call (`pack-constants`). Goto and van de Geijn, "Anatomy of High-Performance
Matrix Multiplication", ACM TOMS 34(3), 2008, has the same blocks with both operands copied. Where
few rows share a large panel, as in a vector times a matrix, memory is the limit: long parts of some
rows of the panel are then read side by side, and nothing twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xtc.ir.analysis.linalg_ops import is_constant
from xtc.ir.analysis.structured import Structured, body_operations, element_bits
from xtc.ir.attributes import LOOP_DIMS
from xtc.ir.mlir import ArrayAttr, StringAttr
from xtc.loops import ALL, NestLoop
from xtc_targets.host.passes._processor import Processor

_VECTORS = 2  # of a row of the register tile
_ACCUMULATORS = 8  # vectors of the register tile at least: so many multiply-adds are under way
_ENOUGH_ROWS = 6  # of a register tile: a vector of the panel is then read for six multiply-adds
_FEW_TILES = 4  # register tiles along the rows below which a copy of the panel does not pay
_STREAMS = 16  # rows of a large panel that are read side by side
_STREAM_BYTES = 2048  # of a row that are read at a stretch, where nothing else limits them
_MANY_ROWS = 512  # that share a panel: its copy costs nothing beside the multiply-adds
_SMALL_WORK = 16384  # multiply-adds below which loops as they are do as well
_PANEL_VECTORS = 8  # of a row of the panel that is copied: so long a row is read at full speed
_PARALLEL_WORK = 1 << 20  # multiply-adds that are worth waking threads for
_MANY_PARTS = 8  # parallel iterations that share out well among a few threads


@dataclass(frozen=True)
class Product:
    """One contraction: result[batch, row, column] += panel[batch, term, column] * other.

    Attributes:
        names: of the loops.
        extents: of the loops.
        batch: loops of the result that the panel has too, outermost first.
        rows: loops that the panel does not have, outermost first, without the next.
        row: the one of them along which a register tile has rows; None where there is one row.
        column: the loop along neighbouring elements of the result and of the panel.
        terms: loops that are summed over.
        panel: the number of the operand with the vectors.
        bytes: of what one column has of it in one term.
        is_copied: whether the panel is copied in any case, at best where it is read.
        is_constant: whether the panel's values are known, so that copying it costs nothing.
    """

    names: tuple[str, ...]
    extents: tuple[int, ...]
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    row: int | None
    column: int
    terms: tuple[int, ...]
    panel: int
    bytes: int
    is_copied: bool = False
    is_constant: bool = False

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
        return self.size((*self.terms, self.column)) * self.bytes

    def size(self, loops: Sequence[int]) -> int:
        """How many iterations the loops have together."""
        return math.prod(self.extents[loop] for loop in loops)


def product_nest(nest: Structured, processor: Processor) -> list[NestLoop] | None:
    """The loops for a product, outermost first; None for what is none, or is small."""
    product = _product(nest)
    if product is None or math.prod(product.extents) < _SMALL_WORK:
        return None
    return product_items(product, processor)


def _product(nest: Structured) -> Product | None:
    column = nest.vector_loop
    if column is None or nest.destination != 2 or not _multiplies_and_adds(nest):
        return None
    panels = [number for number in range(2) if nest.uses_loop(number, column)]
    if len(panels) != 1 or not nest.reductions:
        return None
    (panel,) = panels
    if any(index.loop is None for index in nest.indices[panel]):
        return None
    others = [loop for loop in nest.out if loop != column]
    rows = [loop for loop in others if not nest.uses_loop(panel, loop)]
    long = [loop for loop in rows if nest.extents[loop] > 1]
    row = max(long, key=lambda loop: (min(nest.extents[loop], _ENOUGH_ROWS), loop), default=None)
    return Product(
        loop_names(nest),
        nest.extents,
        tuple(loop for loop in others if loop not in rows),
        tuple(loop for loop in rows if loop != row),
        row,
        column,
        nest.reductions,
        panel,
        element_bits(nest.op.operands[panel]) // 8,
        is_constant=is_constant(nest.op.operands[panel]),
    )


def loop_names(nest: Structured) -> tuple[str, ...]:
    """What the loops of an operation are called."""
    return tuple(StringAttr(name).value for name in ArrayAttr(nest.op.attributes[LOOP_DIMS]))


def _multiplies_and_adds(nest: Structured) -> bool:
    names = [op.name for op in body_operations(nest.op)]
    return names in (["arith.mulf", "arith.addf", "linalg.yield"],)


@dataclass(frozen=True)
class _Blocks:
    """Sizes of the blocks.

    Attributes:
        rows: of the register tile.
        width: columns of the register tile.
        columns: of a panel; 0 where there are no blocks.
        is_copied: whether the panel is copied.
        outer: loops of the sum around the panel.
        terms: of a panel, of the last loop in `outer`; 0 where all loops of the sum are whole.
    """

    rows: int
    width: int
    columns: int
    is_copied: bool
    outer: tuple[int, ...]
    terms: int


def _blocks(product: Product, processor: Processor) -> _Blocks:
    lanes = processor.lanes(8 * product.bytes)
    width = min(product.columns, max(_VECTORS, _ACCUMULATORS // product.shared) * lanes)
    rows = processor.rows(product.height, -(-width // lanes))
    parts = _MANY_PARTS if processor.parallel else 1
    if product.is_constant and product.columns > width:
        if product.held > processor.l2_bytes // 2:
            return _Blocks(rows, width, width, True, (), 0)
        return _Blocks(rows, width, 0, False, (), 0)
    if _pays_to_copy(product, rows, width, processor):
        panel = processor.l2_bytes // 4 // product.bytes
        most = min(_PANEL_VECTORS * lanes, product.columns // max(parts, 2))
        # A panel that has all terms leaves sums that are done, in registers.
        whole = panel // product.size(product.terms)
        columns = max(width, (min(most, whole) if whole >= 2 * width else most) // width * width)
        deepest = max(1, panel // columns)
        return _Blocks(rows, width, columns, True, *_split_terms(product, deepest))
    if product.columns <= width or product.held <= processor.l2_bytes:
        return _Blocks(rows, width, 0, False, (), 0)
    columns = max(width, -(-product.columns // parts // width) * width)
    while product.shared == 1 and _can_double(product, columns):
        columns *= 2
    return _Blocks(rows, width, columns, False, *_split_terms(product, _STREAMS))


def _can_double(product: Product, columns: int) -> bool:
    """Whether parts of rows that are twice as long suit two threads, and leave no rest."""
    longest = min(_STREAM_BYTES // product.bytes, product.columns // 2)
    return 2 * columns <= longest and product.columns % (2 * columns) == 0


def _pays_to_copy(product: Product, rows: int, width: int, processor: Processor) -> bool:
    few = product.columns <= width or product.shared < _FEW_TILES * rows
    if few and not product.is_copied:
        return False
    if product.held > processor.l2_bytes // 2:
        return True
    # In the first-level cache, rows that are far apart would displace each other.
    far = product.columns > 2 * width
    return product.held > processor.l1_bytes and far and product.shared >= _MANY_ROWS


def _split_terms(product: Product, deepest: int) -> tuple[tuple[int, ...], int]:
    """The loops of the sum around a panel of so many terms, and the block of the last of them."""
    outer = list(product.terms)
    while outer and product.size(product.terms[len(outer) - 1 :]) <= deepest:
        outer.pop()
    if len(outer) < len(product.terms):
        return tuple(outer), 0
    terms = product.extents[outer[-1]]
    return tuple(outer), -(-terms // -(-terms // deepest))


def product_items(product: Product, processor: Processor) -> list[NestLoop]:
    """The loops, outermost first."""
    blocks = _blocks(product, processor)
    shared = processor.parallel and math.prod(product.extents) >= _PARALLEL_WORK
    loops = _around(product, blocks, shared=shared)
    if blocks.columns:
        if blocks.is_copied:
            loops[-1] = replace(loops[-1], pack=(product.panel,))
        if blocks.columns > blocks.width:
            loops.append(_tile(product, product.column, blocks.columns))
        loops += _whole(product, product.rows)
    return loops + _inside(product, blocks)


def _around(product: Product, blocks: _Blocks, *, shared: bool) -> list[NestLoop]:
    """The loops around a panel, and those over rows where there is none for them to share."""
    numbers = list(product.batch) if blocks.columns else [*product.batch, *product.rows]
    loops = _whole(product, numbers, shared=shared)
    if product.columns > (blocks.columns or blocks.width):
        loops.append(NestLoop(product.names[product.column], parallelize=shared))
    return loops + _whole(product, blocks.outer)


def _inside(product: Product, blocks: _Blocks) -> list[NestLoop]:
    """The loops around a register tile, and the tile."""
    loops = []
    if product.row is not None and product.height > blocks.rows:
        loops.append(NestLoop(product.names[product.row]))
    if blocks.terms:
        loops.append(_tile(product, blocks.outer[-1], blocks.terms))
    loops += _whole(product, product.terms[len(blocks.outer) :])
    if product.row is not None:
        rows = _tile(product, product.row, blocks.rows)
        loops.append(replace(rows, unroll=ALL if blocks.rows > 1 else 0))
    return [*loops, replace(_tile(product, product.column, blocks.width), vectorize=True)]


def _tile(product: Product, loop: int, size: int) -> NestLoop:
    """A loop over so many iterations of another, or all of that where it has no more."""
    return NestLoop(product.names[loop], None if product.extents[loop] <= size else size)


def _whole(product: Product, loops: Sequence[int], *, shared: bool = False) -> list[NestLoop]:
    """Loops over all iterations, without those of one."""
    names = [product.names[loop] for loop in loops if product.extents[loop] > 1]
    return [NestLoop(name, parallelize=shared) for name in names]
