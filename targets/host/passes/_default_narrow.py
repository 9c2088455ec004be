# SPDX-License-Identifier: Apache-2.0
"""The default schedule of products of numbers that are summed in a wider type.

Where an instruction adds up several neighbouring terms, these are to the loops one word: the loops
are those of a product of words, with the terms of a word innermost. Other floats are widened
first. In both cases the panel is copied anyway, best where it is read.
"""

from __future__ import annotations

from dataclasses import replace

from xtc.ir.analysis.structured import Structured
from xtc.loops import NestLoop
from xtc_targets.host.passes._default_contraction import (
    ContractionShape,
    contraction_items,
    loop_names,
)
from xtc_targets.host.passes._dot_instructions import dot_for
from xtc_targets.host.passes._narrow_contraction import NarrowContraction, host_contraction
from xtc_targets.host.passes._processor import Processor

_PANEL = 1  # the operand with the columns
_BYTES = 4  # of a word, and of a sum


def narrow_nest(nest: Structured, processor: Processor) -> list[NestLoop] | None:
    """The loops for a product of narrow numbers, outermost first; None for another one."""
    product = host_contraction(nest)
    if product is None or not product.pays or nest.device is not None:
        return None
    dot = dot_for(processor.dots, product.element)
    if dot is not None and product.terms > dot.terms and product.suits(dot):
        return _items(product, dot.terms, processor)
    return _items(product, 1, processor) if product.total == "f32" else None


def _items(product: NarrowContraction, group: int, processor: Processor) -> list[NestLoop]:
    """The loops when so many terms are a word."""
    nest, names = product.nest, loop_names(product.nest)
    extents = list(nest.extents)
    extents[product.term] = -(-product.terms // group)
    others = [loop for loop in nest.out if loop != product.column]
    rows = [loop for loop in others if not nest.uses_loop(_PANEL, loop)]
    row = max(rows, key=lambda loop: extents[loop])
    words = ContractionShape(
        names=names,
        extents=tuple(extents),
        batch=tuple(loop for loop in others if loop not in rows),
        rows=tuple(loop for loop in rows if loop != row),
        row=row,
        column=product.column,
        terms=(product.term,),
        panel=_PANEL,
        bytes=_BYTES,
        is_copied=True,
    )
    term = names[product.term]
    items = [_in_terms(item, term, group) for item in contraction_items(words, processor)]
    return [*items, NestLoop(term, group, vectorize=True)] if group > 1 else items


def _in_terms(loop: NestLoop, axis: str, terms: int) -> NestLoop:
    """A loop over words of this axis as a loop over its terms."""
    if loop.axis != axis or loop.tile is None:
        return loop
    return replace(loop, tile=loop.tile * terms, name="")
