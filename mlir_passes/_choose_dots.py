# SPDX-License-Identifier: Apache-2.0
"""The default schedule of narrow products where one instruction adds up several terms.

Neighbouring terms that are added up together are to the loops one word: these are the loops of a
product of words, with those terms innermost. The panel is copied in any case, to interleave it.
"""

from __future__ import annotations

from xtc_passes._choose_product import Product, loop_names, product_items
from xtc_passes._dots import Dot, dot_for
from xtc_passes._narrow_product import NarrowProduct, narrow_product
from xtc_passes._processor import Processor
from xtc_passes._structured import Structured

_PANEL = 1  # the operand with the columns
_WORD_BYTES = 4


def dot_nest(nest: Structured, processor: Processor) -> list[str] | None:
    """The loops for a product of narrow numbers, outermost first; None for another one."""
    product = narrow_product(nest)
    if product is None or not product.pays or nest.device is not None:
        return None
    dot = dot_for(processor.dots, product.element)
    if dot is None or product.terms <= dot.terms or dot.total != product.total:
        return None
    return _items(product, dot, processor)


def _items(product: NarrowProduct, dot: Dot, processor: Processor) -> list[str]:
    nest, names = product.nest, loop_names(product.nest)
    extents = list(nest.extents)
    extents[product.term] = -(-product.terms // dot.terms)
    others = [loop for loop in nest.out if loop != product.column]
    rows = [loop for loop in others if not nest.uses_loop(_PANEL, loop)]
    row = max(rows, key=lambda loop: extents[loop])
    words = Product(
        names=names,
        extents=tuple(extents),
        batch=tuple(loop for loop in others if loop not in rows),
        rows=tuple(loop for loop in rows if loop != row),
        row=row,
        column=product.column,
        terms=(product.term,),
        panel=_PANEL,
        bytes=_WORD_BYTES,
        is_copied=True,
    )
    term = names[product.term]
    items = [_in_terms(item, term, dot.terms) for item in product_items(words, processor)]
    return [*items, f"{term}#{dot.terms}=vectorize"]


def _in_terms(item: str, axis: str, terms: int) -> str:
    """A loop over words of this axis as a loop over its terms."""
    key, separator, words = item.partition("=")
    name, hash, size = key.partition("#")
    if name != axis or not size:
        return item
    return f"{name}{hash}{int(size) * terms}{separator}{words}"
