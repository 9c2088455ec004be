# SPDX-License-Identifier: Apache-2.0
"""The default schedule of products: matmul in all forms, batched or not.

The register tile is some rows of a few vectors of the result. Around it run blocks of the sum, so
that a panel of the operand that has the vectors stays in the second-level cache and its part under
the register tile in the first; the panel is copied where it is read often enough to pay, so that
neighbouring rows are neighbours in memory. Goto and van de Geijn, "Anatomy of High-Performance
Matrix Multiplication", ACM TOMS 34(3), 2008, has the same blocks with both operands copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xtc.core.mlir import ArrayAttr, StringAttr
from xtc_passes._processor import Processor
from xtc_passes._structured import LOOP_NAMES, Structured, body_operations, element_bits

_VECTORS = 2  # of a row of the register tile
_FEW_TILES = 4  # register tiles along the rows below which a copy of the panel does not pay
_SMALL_WORK = 16384  # multiply-adds below which loops as they are do as well
_PANEL_VECTORS = 8  # of a row of the panel that is copied: so long a row is read at full speed
_PARALLEL_WORK = 1 << 20  # multiply-adds that are worth waking threads for
_MANY_PARTS = 8  # parallel iterations that share out well among a few threads


@dataclass(frozen=True)
class _Product:
    """One contraction: result[batch, row, column] += panel[batch, term, column] * other.

    Attributes:
        names: of the loops.
        extents: of the loops.
        batch: loops that every operand or the panel too has, outermost first.
        row: a loop that the panel does not have.
        column: the loop along neighbouring elements of the result and of the panel.
        terms: loops that are summed over.
        panel: the number of the operand with the vectors.
        bytes: of its elements.
    """

    names: tuple[str, ...]
    extents: tuple[int, ...]
    batch: tuple[int, ...]
    row: int
    column: int
    terms: tuple[int, ...]
    panel: int
    bytes: int

    @property
    def columns(self) -> int:
        """Columns of the result."""
        return self.extents[self.column]


def product_nest(nest: Structured, processor: Processor) -> list[str] | None:
    """The loops for a product, outermost first; None for what is none, or is small."""
    product = _product(nest)
    if product is None or math.prod(product.extents) < _SMALL_WORK:
        return None
    return _items(product, processor)


def _product(nest: Structured) -> _Product | None:
    column = nest.vector_loop
    plain = all(index.loop is not None for row in nest.indices for index in row)
    if column is None or not plain or nest.destination != 2 or not _multiplies_and_adds(nest):
        return None
    panels = [number for number in range(2) if nest.uses_loop(number, column)]
    rows = [loop for loop in nest.out if not any(nest.uses_loop(n, loop) for n in panels)]
    rows = [loop for loop in rows if nest.extents[loop] > 1]
    if len(panels) != 1 or not rows or not nest.reductions:
        return None
    row = max(rows, key=lambda loop: nest.extents[loop])
    (panel,) = panels
    return _Product(
        tuple(StringAttr(name).value for name in ArrayAttr(nest.op.attributes[LOOP_NAMES])),
        nest.extents,
        tuple(loop for loop in nest.out if loop not in (row, column)),
        row,
        column,
        nest.reductions,
        panel,
        element_bits(nest.op.operands[panel]) // 8,
    )


def _multiplies_and_adds(nest: Structured) -> bool:
    names = [op.name for op in body_operations(nest.op)]
    return names in (["arith.mulf", "arith.addf", "linalg.yield"],)


@dataclass(frozen=True)
class _Blocks:
    """Sizes of the blocks.

    Attributes:
        rows: of the register tile.
        width: columns of the register tile.
        columns: of a panel that is copied; 0 where the operand is read in place.
        terms: of a panel, of the innermost sum.
    """

    rows: int
    width: int
    columns: int
    terms: int


def _blocks(product: _Product, processor: Processor) -> _Blocks:
    lanes = processor.lanes(8 * product.bytes)
    width = min(product.columns, _VECTORS * lanes)
    rows = processor.rows(product.extents[product.row], -(-width // lanes))
    terms = product.extents[product.terms[-1]]
    held = product.columns * math.prod(product.extents[one] for one in product.terms)
    if (
        held * product.bytes <= processor.l2_bytes // 2
        or product.extents[product.row] < _FEW_TILES * rows
    ):
        return _Blocks(rows, width, 0, terms)
    most = min(_PANEL_VECTORS * lanes, product.columns // _MANY_PARTS)
    columns = max(width, most // width * width)
    deepest = max(1, processor.l2_bytes // 4 // (columns * product.bytes))
    return _Blocks(rows, width, columns, -(-terms // -(-terms // deepest)))


def _items(product: _Product, processor: Processor) -> list[str]:
    """The loops, outermost first: batch, columns, terms, then those around the register tile."""
    blocks = _blocks(product, processor)
    names, extents = product.names, product.extents
    row, column, term = names[product.row], names[product.column], names[product.terms[-1]]
    work = math.prod(extents)
    shared = "parallelize" if processor.parallel and work >= _PARALLEL_WORK else ""
    items = [(names[loop], shared) for loop in product.batch if extents[loop] > 1]
    if product.columns > blocks.width:
        items.append((column, shared))
    items += [(names[loop], "") for loop in product.terms[:-1] if extents[loop] > 1]
    if blocks.terms < extents[product.terms[-1]]:
        items.append((term, ""))
        term = f"{term}#{blocks.terms}"
    if blocks.columns:
        items[-1] = (items[-1][0], f"{items[-1][1]},pack:{product.panel}".strip(","))
        if blocks.columns > blocks.width:
            items.append((f"{column}#{blocks.columns}", ""))
    tall, wide = extents[product.row] > blocks.rows, product.columns > blocks.width
    items += [(row, "")] * tall
    items.append((term, ""))
    unroll = "unroll" if blocks.rows > 1 else ""
    items.append((f"{row}#{blocks.rows}" if tall else row, unroll))
    items.append((f"{column}#{blocks.width}" if wide else column, "vectorize"))
    return [f"{key}={words}" if words else key for key, words in items]
