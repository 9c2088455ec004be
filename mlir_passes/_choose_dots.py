# SPDX-License-Identifier: Apache-2.0
"""The default schedule of products whose innermost loop one instruction is for.

What several neighbouring terms are beside each other is to the loops one word: they are those of a
product of words, with the panel interleaved where it is read, not copied once more.
"""

from __future__ import annotations

from xtc_passes._choose_product import Product, is_computed, loop_names, product_items
from xtc_passes._dots import DOT
from xtc_passes._processor import Processor
from xtc_passes._structured import Structured, element_bits

_PANEL = 1  # the operand with the columns


def dot_nest(nest: Structured, processor: Processor) -> list[str] | None:
    """The loops for a product with interleaved terms, outermost first; None for another one."""
    if DOT not in nest.op.attributes:
        return None
    *terms, inner = nest.reductions
    names, extents, column = loop_names(nest), nest.extents, nest.out[-1]
    rows = [loop for loop in nest.out if not nest.uses_loop(_PANEL, loop)]
    row = max(rows, key=lambda loop: extents[loop])
    bytes = element_bits(nest.op.operands[_PANEL]) // 8 * extents[inner]
    product = Product(
        names=names,
        extents=extents,
        batch=tuple(loop for loop in nest.out if loop not in (row, column)),
        row=row,
        column=column,
        terms=tuple(terms),
        panel=_PANEL,
        bytes=bytes,
        is_computed=is_computed(nest, _PANEL),
        inner=names[inner],
    )
    return product_items(product, processor)
