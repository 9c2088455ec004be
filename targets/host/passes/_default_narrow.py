# SPDX-License-Identifier: Apache-2.0
"""The default schedule of contractions whose operands are widened.

If an instruction reduces a group of consecutive elements of K, the schedule treats a group as one
word: it is the schedule of a contraction of words, with the elements of a word innermost. Other
narrow floats are widened first. In both cases the panel is copied, best in the loop that reads it.
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
from xtc_targets.host.passes._register_tiles import Processor

_PANEL = 1  # the operand with the columns
_BYTES = 4  # of a word, and of an accumulator


def narrow_nest(nest: Structured, processor: Processor) -> list[NestLoop] | None:
    """The loops for a contraction of narrow numbers, outermost first; None for other operations."""
    contraction = host_contraction(nest)
    if contraction is None or not contraction.pays or nest.device is not None:
        return None
    dot = dot_for(processor.dots, contraction.element)
    if dot is not None and contraction.k_extent > dot.group and contraction.suits(dot):
        return _items(contraction, dot.group, processor)
    return _items(contraction, 1, processor) if contraction.total == "f32" else None


def _items(contraction: NarrowContraction, group: int, processor: Processor) -> list[NestLoop]:
    """The loops if `group` elements of K form a word."""
    nest, names = contraction.nest, loop_names(contraction.nest)
    extents = list(nest.extents)
    extents[contraction.k] = -(-contraction.k_extent // group)
    others = [loop for loop in nest.out if loop != contraction.column]
    rows = [loop for loop in others if not nest.uses_loop(_PANEL, loop)]
    row = max(rows, key=lambda loop: extents[loop])
    words = ContractionShape(
        names=names,
        extents=tuple(extents),
        batch=tuple(loop for loop in others if loop not in rows),
        rows=tuple(loop for loop in rows if loop != row),
        row=row,
        column=contraction.column,
        reduction=(contraction.k,),
        panel=_PANEL,
        bytes=_BYTES,
        row_bytes=nest.step_bytes(1 - _PANEL, row),
        is_copied=True,
    )
    k = names[contraction.k]
    items = [_in_elements(item, k, group) for item in contraction_items(words, processor)]
    return [*items, NestLoop(k, group, vectorize=True)] if group > 1 else items


def _in_elements(loop: NestLoop, axis: str, group: int) -> NestLoop:
    """A loop over words of this axis as a loop over its elements."""
    if loop.axis != axis or loop.tile is None:
        return loop
    return replace(loop, tile=loop.tile * group, name="")
