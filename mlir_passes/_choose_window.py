# SPDX-License-Identifier: Apache-2.0
"""The default schedule of windows that slide over each channel alone.

Those of depthwise convolution and of pooling. Vectors are along the channels, which neighbour each
other in memory; a register tile has some positions of the window along a row of the image, whose
taps overlap. All channels of a position come before the next one, so that memory is read in order.
"""

from __future__ import annotations

import math

from xtc.core.mlir import ArrayAttr, StringAttr
from xtc_passes._processor import Processor
from xtc_passes._structured import (
    LOOP_NAMES,
    Structured,
    body_operations,
    element_bits,
    even_part,
    is_used,
)

_ACCUMULATORS = 8  # vectors of the register tile
_FEW_TAPS = 4  # of a row of the window: so many are written out, and share what they read
_SMALL_WORK = 16384  # taps of all positions below which loops as they are do as well
_PARALLEL_WORK = 1 << 20  # taps that are worth waking threads for


def window_nest(nest: Structured, processor: Processor) -> list[str] | None:
    """The loops for a window that slides, outermost first; None for what is none, or is small."""
    channel = nest.vector_loop
    if channel is None or not _slides_over_channels(nest, channel):
        return None
    if math.prod(nest.extents) < _SMALL_WORK:
        return None
    slides = [loop for loop in nest.out if loop != channel and _slides(nest, loop)]
    return _items(nest, processor, channel, slides[-1])


def _slides_over_channels(nest: Structured, channel: int) -> bool:
    """True where all that is read changes with the channel, and is read by windows."""
    bits = {element_bits(nest.op.operands[number]) for number in range(len(nest.indices))}
    if bits not in ({32}, {64}):
        return False
    if not all(op.name.startswith(("arith.", "linalg.yield")) for op in body_operations(nest.op)):
        return False
    inputs = [n for n in range(nest.destination) if is_used(nest.body.arguments[n])]
    moving = any(_slides(nest, loop) for loop in nest.out if loop != channel)
    return moving and all(nest.uses_loop(number, channel) for number in inputs)


def _slides(nest: Structured, loop: int) -> bool:
    """True for a loop over positions: it shares an index with a loop over taps."""
    return any(
        index.factor(loop) and any(index.factor(tap) for tap in nest.reductions)
        for row in nest.indices[:-1]
        for index in row
    )


def _items(nest: Structured, processor: Processor, channel: int, slide: int) -> list[str]:
    names = [StringAttr(name).value for name in ArrayAttr(nest.op.attributes[LOOP_NAMES])]
    extents = nest.extents
    positions = even_part(extents[slide], min(extents[slide], _ACCUMULATORS))
    lanes = processor.lanes(element_bits(nest.op.operands[nest.destination]))
    width = min(extents[channel], max(1, _ACCUMULATORS // positions) * lanes)
    shared = processor.parallel and math.prod(extents) >= _PARALLEL_WORK
    outer = [loop for loop in nest.out if loop not in (channel, slide) and extents[loop] > 1]
    items = [f"{names[loop]}=parallelize" if shared else names[loop] for loop in outer]
    items += [names[slide]] * (extents[slide] > positions)
    items += [names[channel]] * (extents[channel] > width)
    taps = [loop for loop in nest.reductions if extents[loop] > 1]
    items += [names[loop] for loop in taps[:-1]]
    items += [names[loop] + "=unroll" * (extents[loop] <= _FEW_TAPS) for loop in taps[-1:]]
    if positions > 1:
        items.append(f"{_tile(names[slide], extents[slide], positions)}=unroll")
    return [*items, f"{_tile(names[channel], extents[channel], width)}=vectorize"]


def _tile(name: str, extent: int, size: int) -> str:
    return name if extent == size else f"{name}#{size}"
