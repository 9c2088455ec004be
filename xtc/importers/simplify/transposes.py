# SPDX-License-Identifier: Apache-2.0
"""Sinks transposes below the operators that follow them, until they meet and cancel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from xtc.graph.operator import Operator
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.rewriter import Rewriter
from xtc.importers.simplify.shapes import axes_of
from xtc.ops.concat import Concat
from xtc.ops.elementwise import Elementwise
from xtc.ops.gather import Gather
from xtc.ops.pad import Pad
from xtc.ops.pad_mirrored import PadMirrored
from xtc.ops.reduction import Reduction
from xtc.ops.resample import Resample
from xtc.ops.reshape import Reshape
from xtc.ops.slice import Slice
from xtc.ops.softmax import Softmax
from xtc.ops.transpose import Transpose

Axes = tuple[int, ...]


def sink_transposes(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Rewrite f(transpose(x)) to transpose(f'(x)), where f' works along the permuted dimensions."""
    axes = next((found for x in inputs if (found := _transposed(x)) is not None), None)
    if axes is None:
        return None
    if isinstance(op, Elementwise):
        return _elementwise(rewriter, op, inputs, axes)
    if isinstance(op, Concat):
        return _concat(rewriter, op, inputs, axes)
    if isinstance(op, Reduction):
        return _reduction(rewriter, op, inputs[0], axes)
    if isinstance(op, Reshape):
        return _reshape(rewriter, op, inputs[0], axes)
    moved = _moved(op, inputs, axes)
    if moved is None or _transposed(inputs[0]) is None:
        return None
    return _behind(rewriter, rewriter.write(moved, _source(inputs[0]), *inputs[1:]), axes)


def _transposed(x: Tensor) -> Axes | None:
    """The permutation of the transpose that produces a tensor, if any."""
    if x.producer is None or not isinstance(x.producer.op, Transpose):
        return None
    return axes_of(x.producer.op, x.producer.inputs[0])


def _source(x: Tensor) -> Tensor:
    """The operand of the transpose."""
    if x.producer is None:
        raise TypeError(f"{x} is not computed")
    return x.producer.inputs[0]


def _behind(rewriter: Rewriter, x: Tensor, axes: Axes) -> Tensor:
    return rewriter.write(Transpose(axes), x)


def _inverse(axes: Axes) -> Axes:
    return tuple(axes.index(d) for d in range(len(axes)))


def _elementwise(
    rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor], axes: Axes
) -> Tensor | None:
    rank = len(axes)
    if op.infer(*(x.type for x in inputs)).rank != rank:
        return None
    sources = [_in_order(rewriter, x, axes) for x in inputs]
    if any(source is None for source in sources):
        return None
    return _behind(rewriter, rewriter.write(op, *(s for s in sources if s is not None)), axes)


def _in_order(rewriter: Rewriter, x: Tensor, axes: Axes) -> Tensor | None:
    """An operand permuted to the order before the transpose, if that is cheap."""
    rank = len(axes)
    if _transposed(x) == axes:
        return _source(x)
    if x.type.rank == 0:
        return x
    full = (1,) * (rank - x.type.rank) + x.type.sizes
    wide = x if x.type.rank == rank else None
    moved = [axis for axis in _inverse(axes) if full[axis] != 1]
    if x.const is None:
        # A reshape, because a transpose would be sunk again.
        laid = Reshape(tuple(full[axis] for axis in _inverse(axes)))
        return rewriter.write(laid, x) if moved == sorted(moved) else None
    if wide is None:
        wide = rewriter.write(Reshape(full), x)
    return rewriter.write(Transpose(_inverse(axes)), wide)


def _concat(rewriter: Rewriter, op: Concat, inputs: Sequence[Tensor], axes: Axes) -> Tensor | None:
    sources = [_source(x) if _transposed(x) == axes else None for x in inputs]
    if any(source is None for source in sources):
        return None
    moved = rewriter.write(Concat(axes[op.axis]), *(s for s in sources if s is not None))
    return _behind(rewriter, moved, axes)


def _reduction(rewriter: Rewriter, op: Reduction, x: Tensor, axes: Axes) -> Tensor | None:
    chosen = op.reduced(x.type)
    moved = replace(op, axes=tuple(sorted(axes[axis] for axis in chosen)))
    result = rewriter.write(moved, _source(x))
    if op.keepdims:
        return _behind(rewriter, result, axes)
    kept = [axis for d, axis in enumerate(axes) if d not in chosen]
    order = sorted(kept)
    return _behind(rewriter, result, tuple(order.index(axis) for axis in kept))


def _reshape(rewriter: Rewriter, op: Reshape, x: Tensor, axes: Axes) -> Tensor | None:
    """Move a reshape that splits or joins dimensions above a transpose.

    Joined dimensions must be adjacent, in this order, before the transpose too. Those of an image
    are if channels are last; images and sequences of tokens then convert without data movement.
    """
    sizes = op.infer(x.type).sizes
    keys = _places(x.type.sizes, sizes, axes)
    if keys is None:
        return None
    order = sorted(range(len(sizes)), key=keys.__getitem__)
    source = rewriter.write(Reshape(tuple(sizes[d] for d in order)), _source(x))
    return _behind(rewriter, source, _inverse(tuple(order)))


def _places(old: Sequence[int], new: Sequence[int], axes: Axes) -> list[tuple[int, int]] | None:
    """Sort keys of the new dimensions before the transpose; size 1 follows its predecessor."""
    long = [axis for axis, size in zip(axes, old, strict=True) if size != 1]
    ranks = [sorted(long).index(axis) for axis in long]
    groups = _equal_products([n for n in old if n != 1], [n for n in new if n != 1])
    if groups is None:
        return None
    firsts: list[int] = []
    for olds, news in groups:
        first, *others = (ranks.pop(0) for _ in range(olds))
        if others != list(range(first + 1, first + olds)):
            return None
        firsts += [first] * news
    keys, current = [], -1
    for number, size in enumerate(new):
        current = firsts.pop(0) if size != 1 else current
        keys.append((current, number))
    return keys


def _equal_products(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]] | None:
    """Group the sizes of both lists, in order, into the shortest runs of equal products."""
    groups, left, right = [], list(old), list(new)
    while left and right:
        olds, news = [left.pop(0)], [right.pop(0)]
        while olds != news and prod(olds) != prod(news):
            shorter, rest = (olds, left) if prod(olds) < prod(news) else (news, right)
            if not rest:
                return None
            shorter.append(rest.pop(0))
        groups.append((len(olds), len(news)))
    return None if left or right else groups


def _moved(op: Operator, inputs: Sequence[Tensor], axes: Axes) -> Operator | None:
    """The operator for the operand before the transpose."""
    for kind, move in _MOVES.items():
        if isinstance(op, kind):
            return move(op, inputs, axes)
    return None


def _by_dimension(values: Sequence[object], axes: Axes) -> tuple[object, ...]:
    """Permute entries from the dimensions after the transpose to those before it."""
    return tuple(values[axes.index(d)] for d in range(len(axes)))


def _pad(op: Operator, inputs: Sequence[Tensor], axes: Axes) -> Operator | None:
    return replace(op, padding=_by_dimension(op.padding, axes))  # type: ignore[attr-defined, call-arg]


def _slice(op: Operator, inputs: Sequence[Tensor], axes: Axes) -> Operator | None:
    fields = {name: _by_dimension(getattr(op, name), axes) for name in ("starts", "stops", "steps")}
    return replace(op, **fields)


def _axis(op: Operator, inputs: Sequence[Tensor], axes: Axes) -> Operator | None:
    return replace(op, axis=axes[op.axis % len(axes)])  # type: ignore[attr-defined, call-arg]


def _gather(op: Operator, inputs: Sequence[Tensor], axes: Axes) -> Operator | None:
    return _axis(op, inputs, axes) if inputs[1].type.rank == 1 else None


Move = Callable[[Operator, Sequence[Tensor], Axes], Operator | None]
_MOVES: dict[type[Operator], Move] = {
    Pad: _pad,
    PadMirrored: _pad,
    Slice: _slice,
    Softmax: _axis,
    Resample: _axis,
    Gather: _gather,
}
