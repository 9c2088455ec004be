# SPDX-License-Identifier: Apache-2.0
"""The default schedule of poolings and depthwise convolutions.

Vectors run along the channels, which are contiguous in memory. A register tile has one accumulator
for each of several positions of the window along a row of the image, because these share filters
and input: eight positions with a row of seven taps read 21 vectors for 56 multiplications, two
positions of four vectors read 60. If a row of many taps and the accumulators of two vectors along
the channels fit into registers, the two are read from memory together. A pooling has no filters to
share, and reads long runs of memory faster. All channels of a position come before the next
position, so that memory is read in order, unless the filters of all channels would not fit into the
first-level cache, or for two vectors into the second-level cache.
"""

from __future__ import annotations

import math
from dataclasses import replace

from xtc.ir.analysis.structured import Structured, body_operations, element_bits, even_part, is_used
from xtc.ir.attributes import LOOP_DIMS
from xtc.ir.mlir import ArrayAttr, StringAttr
from xtc.loops import ALL, NestLoop
from xtc_targets.host.passes._register_tiles import Processor

_ACCUMULATORS = 8  # vectors of the register tile
_RUN = 4  # vectors along the channels, for several positions of a pooling
_FEW_TAPS = 9  # most taps of a window row that are unrolled, and share their input
# On an Intel Xeon, family 6, model 207, in tiles of 8 and of 7 x 2: 7 x 7, 32x32x768 2.4 and
# 1.5 ms, 7x7x768 100 and 53 us; 5 x 5, 7x7x960 66 and 44 us. 3 x 3, 56x56x128 0.23 and 0.24 ms.
_MANY_TAPS = 5  # least taps of a window row that pays for two vectors
_SPARE_PAIRS = 2  # of registers, for the image
_FEWEST_PAIRS = 6  # of accumulators: twelve multiply-adds in flight
_SMALL_WORK = 16384  # taps of all positions; smaller operations gain nothing by a schedule
_PARALLEL_WORK = 1 << 20  # taps of all positions from which on threads pay


def window_nest(nest: Structured, processor: Processor) -> list[NestLoop] | None:
    """The loops for a sliding window, outermost first; None for other operations and small ones."""
    channel = nest.vector_loop
    if channel is None or not _slides_over_channels(nest, channel):
        return None
    if math.prod(nest.extents) < _SMALL_WORK:
        return None
    slides = [loop for loop in nest.out if loop != channel and _slides(nest, loop)]
    return _items(nest, processor, channel, slides[-1])


def _slides_over_channels(nest: Structured, channel: int) -> bool:
    """Whether all operands are indexed by the channel and read through windows."""
    bits = {element_bits(nest.op.operands[number]) for number in range(len(nest.indices))}
    if bits not in ({32}, {64}):
        return False
    if not all(op.name.startswith(("arith.", "linalg.yield")) for op in body_operations(nest.op)):
        return False
    inputs = [n for n in range(nest.destination) if is_used(nest.body.arguments[n])]
    moving = any(_slides(nest, loop) for loop in nest.out if loop != channel)
    return moving and all(nest.uses_loop(number, channel) for number in inputs)


def _slides(nest: Structured, loop: int) -> bool:
    """Whether it is a loop over positions: it shares an index with a loop over taps."""
    return any(
        index.factor(loop) and any(index.factor(tap) for tap in nest.reductions)
        for row in nest.indices[:-1]
        for index in row
    )


def _items(nest: Structured, processor: Processor, channel: int, slide: int) -> list[NestLoop]:
    names = [StringAttr(name).value for name in ArrayAttr(nest.op.attributes[LOOP_DIMS])]
    extents = nest.extents
    lanes = processor.lanes(element_bits(nest.op.operands[nest.destination]))
    filters = _filters(nest, slide)
    most = _pairs(nest, processor) if filters and _are_pairs(extents[channel], lanes) else 0
    cache = processor.l2_bytes if most else processor.l1_bytes
    if most:
        vectors = 2
    else:
        run = max(1 if filters else _RUN, _ACCUMULATORS // extents[slide])
        vectors = _run(extents[channel], lanes, run)
        most = _ACCUMULATORS // vectors
    width = min(extents[channel], vectors * lanes)
    positions = even_part(extents[slide], min(extents[slide], most))
    shared = processor.parallel and math.prod(extents) >= _PARALLEL_WORK
    outer = [loop for loop in nest.out if loop not in (channel, slide) and extents[loop] > 1]
    items = [NestLoop(names[loop], parallelize=shared) for loop in outer]
    steps = [NestLoop(names[slide])] * (extents[slide] > positions)
    blocks = [NestLoop(names[channel])] * (extents[channel] > width)
    items += blocks + steps if filters > cache // 2 else steps + blocks
    taps = [loop for loop in nest.reductions if extents[loop] > 1]
    items += [NestLoop(names[loop]) for loop in taps[:-1]]
    few = [ALL if extents[loop] <= _FEW_TAPS else 0 for loop in taps[-1:]]
    items += [NestLoop(names[loop], unroll=all) for loop, all in zip(taps[-1:], few, strict=True)]
    if positions > 1:
        items.append(replace(_tile(names[slide], extents[slide], positions), unroll=ALL))
    return [*items, replace(_tile(names[channel], extents[channel], width), vectorize=True)]


def _are_pairs(channels: int, lanes: int) -> bool:
    """Whether pairs of vectors cover the channels, or leave more than one vector."""
    rest = channels % (2 * lanes)
    return channels >= 2 * lanes and (rest == 0 or rest > lanes)


def _pairs(nest: Structured, processor: Processor) -> int:
    """The positions of a register tile of two vectors, with a row of filters; 0 for short rows."""
    taps = nest.extents[nest.reductions[-1]]
    positions = min(processor.registers // 2 - _SPARE_PAIRS - taps, _ACCUMULATORS)
    return positions if _MANY_TAPS <= taps <= _FEW_TAPS and positions >= _FEWEST_PAIRS else 0


def _run(channels: int, lanes: int, most: int) -> int:
    """The vectors along the channels, without a remainder if the channels are whole vectors."""
    count = -(-channels // lanes)
    if count <= most or channels % lanes:
        return min(count, most)
    return next(size for size in range(most, 0, -1) if count % size == 0)


def _filters(nest: Structured, slide: int) -> int:
    """Bytes of the operands that every position reads."""
    used = (n for n in range(nest.destination) if is_used(nest.body.arguments[n]))
    still = [n for n in used if not nest.uses_loop(n, slide)]
    return sum(nest.touched_bytes(number, ()) for number in still)


def _tile(name: str, extent: int, size: int) -> NestLoop:
    return NestLoop(name, None if extent == size else size)
