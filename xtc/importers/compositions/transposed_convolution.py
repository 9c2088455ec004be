# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions in one, two and three dimensions, channels last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.convolution import convolved, reversed_filters
from xtc.importers.compositions.movement import taken
from xtc.importers.compositions.windows import Window
from xtc.importers.values import Value, as_tensor, shape_of


@dataclass(frozen=True)
class Spread:
    """How a transposed convolution spreads the elements of one dimension.

    Element i adds to the elements `i * stride + t * dilation` of the full result, for each tap t.

    Attributes:
        size: size of the dimension.
        taps: taps of the filters.
        skipped: elements of the full result before the first kept one.
        output: kept elements; zeros beyond the end of the full result.
    """

    size: int
    taps: int
    stride: int
    dilation: int
    skipped: int
    output: int

    @property
    def phase_taps(self) -> int:
        """Number of taps that contribute to one element of the result."""
        return -(-self.taps // self.stride)

    @property
    def first(self) -> int:
        """The first element whose phases are computed; they begin at result `first * stride`."""
        return self.skipped // self.stride

    def phases(self) -> Window:
        """The window over the operand that computes `stride` adjacent elements of the result."""
        last = (self.skipped + self.output - 1) // self.stride
        taps, count = self.phase_taps, last + 1 - self.first
        before = taps - 1 - self.first
        return Window(self.size, taps, 1, 1, before, last + 1 - self.size, count)

    def over_zeros(self) -> Window:
        """The window over the operand after zeros are inserted between its elements."""
        size = (self.size - 1) * self.stride + 1
        last = (self.taps - 1) * self.dilation
        before = last - self.skipped
        after = self.output + last - before - size
        return Window(size, self.taps, 1, self.dilation, before, after, self.output)


def spread(x: Tensor, filters: Value, spreads: Sequence[Spread], groups: int) -> Tensor:
    """Transposed convolution of (n, ..., c) with filters (c, f / groups, taps...).

    In each dimension only every `stride`-th tap contributes to an element of the result, and
    elements `stride` apart use the same taps. One convolution therefore computes all elements, with
    the phases as additional output channels; the phases are interleaved afterwards.
    """
    if _is_profitable(shape_of(filters)[1], spreads, groups):
        result = convolved(x, _by_phase(filters, spreads, groups), _phases(spreads), groups)
        return _interleaved(result, spreads, groups)
    strides = [step.stride for step in spreads]
    image = O.dilate(x, (1, *strides, 1)) if max(strides) > 1 else x
    return convolved(
        image, reversed_filters(filters, groups), [step.over_zeros() for step in spreads], groups
    )


def _phases(spreads: Sequence[Spread]) -> list[Window]:
    return [step.phases() for step in spreads]


def _is_profitable(each: int, spreads: Sequence[Spread], groups: int) -> bool:
    """Whether phases pay: not for depthwise filters, nor for grouped ones in three dimensions."""
    alone = groups == 1 or (each > 1 and len(spreads) < 3)
    plain = all(step.dilation == 1 for step in spreads)
    return alone and plain and any(step.stride > 1 for step in spreads)


def _by_phase(filters: Value, spreads: Sequence[Spread], groups: int) -> Tensor:
    """Reorder (c, e, taps...) to (phase taps..., c / groups, groups * strides... * e), reversed."""
    channels, each, *_ = shape_of(filters)
    more = [(0, step.phase_taps * step.stride - step.taps) for step in spreads]
    whole = O.pad(as_tensor(filters), ((0, 0), (0, 0), *more), value=0)
    split = [size for step in spreads for size in (step.phase_taps, step.stride)]
    group = [groups] * (groups > 1)
    parts = O.reshape(whole, (*group, channels // groups, each, *split))
    first = len(group) + 2
    taps = tuple(range(first, first + len(split), 2))
    reversed_taps = tuple(d for d in taps if split[d - first] > 1)
    ordered = O.flip(parts, axes=reversed_taps) if reversed_taps else parts
    steps = tuple(d + 1 for d in taps)
    moved = O.transpose(ordered, axes=(*taps, first - 2, *range(len(group)), *steps, first - 1))
    features = groups * each * math.prod(step.stride for step in spreads)
    return O.reshape(moved, (*(step.phase_taps for step in spreads), channels // groups, features))


def _interleaved(result: Tensor, spreads: Sequence[Spread], groups: int) -> Tensor:
    """Interleave the phases of (n, positions..., groups * strides... * e), and crop the result."""
    n, *positions, channels = result.type.sizes
    rank, strides = len(spreads), [step.stride for step in spreads]
    each = channels // groups // math.prod(strides)
    group = [groups] * (groups > 1)
    parts = O.reshape(result, (n, *positions, *group, *strides, each))
    first = 1 + rank + len(group)
    pairs = [d for place in range(rank) for d in (1 + place, first + place)]
    moved = O.transpose(parts, axes=(0, *pairs, *range(1 + rank, first), first + rank))
    sizes = [count * stride for count, stride in zip(positions, strides, strict=True)]
    whole = O.reshape(moved, (n, *sizes, groups * each))
    starts = [step.skipped - step.first * step.stride for step in spreads]
    kept = [range(start, start + step.output) for start, step in zip(starts, spreads, strict=True)]
    if kept == [range(size) for size in sizes]:
        return whole
    return as_tensor(taken(whole, [range(n), *kept, range(groups * each)]))
