# SPDX-License-Identifier: Apache-2.0
"""Data movement: slices, padding, broadcasts, reordered dimensions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.values import Array, Value


def same(x: Tensor) -> Tensor:
    """A copy of the tensor, as the result of a node."""
    return O.reshape(x, x.shape)


def starts_of(sizes: Sequence[int]) -> list[int]:
    """The start offset of each part."""
    return list(itertools.accumulate(sizes[:-1], initial=0))


def part(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    """Slice elements `start` to `stop` of one axis."""
    rank = x.type.rank
    starts: list[int | None] = [None] * rank
    stops: list[int | None] = [None] * rank
    starts[axis], stops[axis] = start, stop
    return O.slice(x, starts, stops)


def taken(x: Tensor, chosen: Sequence[range]) -> Value:
    """Select regularly spaced elements of each dimension; a descending range reverses it."""
    if any(len(numbers) == 0 for numbers in chosen):
        return np.empty([len(numbers) for numbers in chosen], x.element.numpy)
    upward = [numbers if numbers.step > 0 else numbers[::-1] for numbers in chosen]
    backward = tuple(d for d, numbers in enumerate(chosen) if numbers.step < 0 and len(numbers) > 1)
    starts = [numbers.start for numbers in upward]
    stops = [numbers[-1] + 1 for numbers in upward]
    steps = [numbers.step if len(numbers) > 1 else 1 for numbers in upward]
    result = O.slice(x, starts, stops, steps)
    return O.flip(result, axes=backward) if backward else result


def expanded(x: Tensor, shape: Sequence[int]) -> Tensor:
    """`x` broadcast to a shape."""
    return same(x) if tuple(shape) == x.type.sizes else O.expand(x, tuple(shape))


def padded(
    x: Tensor, border: Sequence[tuple[int, int]], mode: str, value: float | np.generic
) -> Value:
    """Pad `x`; a negative border crops it."""
    plain: float = value.item() if isinstance(value, np.generic) else value
    cut = _cropped(x, border)
    if mode == "constant" and not all(cut):  # at most padding is left of `x`
        x = O.pad(x, [(max(before, 0), max(after, 0)) for before, after in border], value=plain)
        border = [(min(before, 0), min(after, 0)) for before, after in border]
        cut = _cropped(x, border)
    if any(numbers != range(size) for numbers, size in zip(cut, x.type.sizes, strict=True)):
        inner = taken(x, cut)
        if not isinstance(inner, Tensor):
            return inner
        x = inner
    grown = [(max(before, 0), max(after, 0)) for before, after in border]
    if not any(map(any, grown)):
        return same(x)
    if mode == "constant":
        return O.pad(x, grown, value=plain)
    return O.pad_mirrored(x, grown, mode=mode)


def _cropped(x: Tensor, border: Sequence[tuple[int, int]]) -> list[range]:
    """The positions of each dimension that a border with negative ends leaves."""
    return [
        range(max(-before, 0), size - max(-after, 0))
        for size, (before, after) in zip(x.type.sizes, border, strict=True)
    ]


def moved_axis(x: Tensor, source: int, to: int) -> Tensor:
    """Move one dimension of `x` to another position."""
    axes = [d for d in range(x.type.rank) if d != source]
    axes.insert(to, source)
    return O.transpose(x, axes=tuple(axes)) if axes != sorted(axes) else x


def stacked(xs: Sequence[Tensor], axis: int) -> Tensor:
    """Stack tensors of equal shape along a new dimension."""
    shaped = [O.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in xs]
    return O.concat(*shaped, axis=axis) if len(shaped) > 1 else shaped[0]


def constant(array: Array) -> Tensor:
    """A constant tensor."""
    return O.tensor(array.shape, array.dtype.name, const=array)
