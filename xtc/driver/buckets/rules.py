# SPDX-License-Identifier: Apache-2.0
"""Padding rules of operators: each gives the extents of the result or the reason for refusal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.driver.buckets.extents import Extent, is_leading, is_whole, regrouped, sizes
from xtc.driver.buckets.step import Step
from xtc.driver.buckets.window_rules import WINDOWED, windowed
from xtc.graph.tensor import Tensor
from xtc.ops.concat import Concat
from xtc.ops.einsum import Einsum, parsed
from xtc.ops.elementwise import Elementwise
from xtc.ops.expand import Expand
from xtc.ops.gather import Gather
from xtc.ops.layer_norm import LayerNorm
from xtc.ops.matmul import Matmul
from xtc.ops.pad import Pad
from xtc.ops.prefix import Prefix
from xtc.ops.reduce_mean import ReduceMean
from xtc.ops.reduction import Reduction
from xtc.ops.resample import Resample
from xtc.ops.reshape import Reshape
from xtc.ops.selection import Selection
from xtc.ops.slice import Slice
from xtc.ops.softmax import Softmax
from xtc.ops.tile import Tile
from xtc.ops.transpose import Transpose
from xtc.ops.trilu import Trilu
from xtc.ops.unpad import Unpad

Rule = Callable[[Step, Any], Sequence[Extent]]  # of a node pair and its padded operator


def extents_after(step: Step) -> tuple[Sequence[Extent], Tensor]:
    """The extents of a node's result, and the new node. Raises InexactPaddingError."""
    sized = step.small.output.type.sizes == step.large.output.type.sizes
    if sized and all(is_whole(extent) for extents in step.extents for extent in extents):
        step.require(step.small.op == step.large.op, "its attributes depend on the size")
        return step.output(), step.write()
    op = step.large.op
    if isinstance(op, ReduceMean):
        return _mean(step, op)
    for kind, rule in RULES.items():
        if isinstance(op, kind):
            step.require(kind in _SIZED or step.small.op == op, "its attributes depend on the size")
            return rule(step, op), step.write()
    step.require(False, "no rule states that it keeps the padding separate")
    raise AssertionError


def _broadcast(step: Step, extents: Sequence[Sequence[Extent]], rank: int) -> list[Extent]:
    """The extents of broadcast operands."""
    result: list[Extent] = []
    for position in range(-rank, 0):
        given = [x[position] for x in extents if len(x) >= -position]
        wide = {extent for extent in given if sizes(extent)[1] != 1}
        step.require(len(wide) <= 1, "its operands are padded differently")
        result.append(wide.pop() if wide else ())
    return result


def _elementwise(step: Step, _: Any) -> list[Extent]:
    return _broadcast(step, step.extents, step.large.output.type.rank)


def _reshape(step: Step, _: Any) -> list[Extent]:
    types = step.small.output.type.sizes, step.large.output.type.sizes
    found = regrouped(step.extents[0], *types)
    step.require(found is not None, "it splits the padding")
    return list(found)


def _transpose(step: Step, op: Any) -> list[Extent]:
    (x,) = step.extents
    return [x[axis] for axis in op.axes]


def _expand(step: Step, _: Any) -> list[Extent]:
    (x,) = step.extents
    result = step.output()
    for position in range(-len(x), 0):
        if sizes(x[position])[1] != 1:
            result[position] = x[position]
    return result


def _tile(step: Step, op: Any) -> list[Extent]:
    (x,) = step.extents
    repeats: Sequence[int] = op.repeats
    for extent, count in zip(x, repeats, strict=True):
        step.require(count == 1 or is_whole(extent), "it repeats a padded dimension")
    pairs = zip(x, step.output(), repeats, strict=True)
    return [extent if count == 1 else new for extent, new, count in pairs]


def _slice(step: Step, op: Any) -> list[Extent]:
    small: Any = step.small.op
    (x,) = step.extents
    result = step.output()
    for axis, extent in enumerate(x):
        same = (small.starts[axis], small.steps[axis]) == (op.starts[axis], op.steps[axis])
        step.require(same, "where it starts depends on the size")
        if sizes(extent) == sizes(result[axis]):
            result[axis] = extent
        step.require(is_leading(extent) or result[axis] == extent, "it slices several dimensions")
    return result


def _pad(step: Step, op: Any) -> list[Extent]:
    (x,) = step.extents
    result = step.output()
    for axis, (extent, ends) in enumerate(zip(x, op.padding, strict=True)):
        if ends == (0, 0):
            result[axis] = extent
            continue
        step.require(is_leading(extent), "it pads several dimensions")
        if ends[1]:
            step.overwrite(0, axis, op.value)
    return result


def _unpad(step: Step, op: Any) -> list[Extent]:
    (x,) = step.extents
    cut = [ends != (0, 0) for ends in op.padding]
    for extent, is_cut in zip(x, cut, strict=True):
        step.require(not is_cut or is_leading(extent), "it crops several dimensions")
    return [new if is_cut else old for old, new, is_cut in zip(x, step.output(), cut, strict=True)]


def _concat(step: Step, op: Any) -> list[Extent]:
    *firsts, last = (x[op.axis] for x in step.extents)
    step.require(
        all(is_whole(extent) for extent in firsts) and is_leading(last),
        "elements follow the padding",
    )
    others = [[*x[: op.axis], (), *x[op.axis + 1 :]] for x in step.extents]
    result = _broadcast(step, others, len(others[0]))
    result[op.axis] = step.output()[op.axis]
    return result


def _gather(step: Step, op: Any) -> list[Extent]:
    x, indices = step.extents
    if not is_whole(x[op.axis]):
        known = step.small.inputs[1].const
        inside = known is not None and bool((known >= 0).all())
        step.require(inside and is_leading(x[op.axis]), "indices into a padded dimension")
        size = sizes(x[op.axis])[0]
        step.require(
            known is not None and int(known.max(initial=0)) < size, "indices point into the padding"
        )
    return [*x[: op.axis], *indices, *x[op.axis + 1 :]]


def _matmul(step: Step, op: Any) -> list[Extent]:
    a, b = step.extents
    i, k = (-1, -2) if op.transpose_a else (-2, -1)
    k_of_b, j = (-1, -2) if op.transpose_b else (-2, -1)
    step.require(a[k] == b[k_of_b], "its operands are padded differently")
    for operand, axis in ((0, k), (1, k_of_b)):
        step.overwrite(operand, len(step.extents[operand]) + axis, 0)
    batch = _broadcast(step, (a[:-2], b[:-2]), step.large.output.type.rank - 2)
    return [*batch, a[i], b[j]]


def _einsum(step: Step, op: Any) -> list[Extent]:
    terms, result = parsed(op.equation)
    found: dict[str, Extent] = {}
    for operand, (term, extents) in enumerate(zip(terms, step.extents, strict=True)):
        for axis, (letter, extent) in enumerate(zip(term, extents, strict=True)):
            known = found.setdefault(letter, extent)
            step.require(known == extent, "its operands are padded differently")
            if letter not in result:
                step.overwrite(operand, axis, 0)
    return [found[letter] for letter in result]


def _softmax(step: Step, op: Any) -> list[Extent]:
    (x,) = step.extents
    axis = op.axis % len(x)
    step.overwrite(0, axis, -np.inf)
    return list(x)


def _layer_norm(step: Step, op: Any) -> list[Extent]:
    x = step.extents[0]
    axis = op.axis % len(x)
    step.require(all(map(is_whole, x[axis:])), "it normalizes a padded dimension")
    return list(x)


def _reduction(step: Step, op: Any) -> list[Extent]:
    (x,) = step.extents
    axes = op.reduced(step.large.inputs[0].type)
    for axis in axes:
        step.overwrite(0, axis, op.start(step.large.inputs[0].element))
    return _left(x, axes, keepdims=op.keepdims)


def _left(x: Sequence[Extent], axes: Sequence[int], *, keepdims: bool) -> list[Extent]:
    """The extents of a reduction's result."""
    kept = [() if axis in axes else extent for axis, extent in enumerate(x)]
    return kept if keepdims else [e for axis, e in enumerate(kept) if axis not in axes]


def _mean(step: Step, op: Any) -> tuple[Sequence[Extent], Tensor]:
    """The sum divided by the number of valid elements, which each call counts."""
    (x,) = step.extents
    type = step.large.inputs[0].type
    axes = op.reduced(type)
    step.require(type.element.bits >= 32, "it rounds a mean once, its sum would round as well")
    step.require(step.small.op == op, "its attributes depend on the size")
    count: Any = float(np.prod([sizes(x[axis])[1] for axis in axes if is_whole(x[axis])]))
    for axis in axes:
        step.overwrite(0, axis, 0)
        if not is_whole(x[axis]):
            flags = O.cast(step.walk.mask(x[axis]), type.element.name)
            count = O.mul(O.reduce_sum(flags, axes=(0,), keepdims=True), count)
    if isinstance(count, Tensor):
        count = O.reshape(count, (1,) * max(1, step.large.output.type.rank))
        total = O.reduce_sum(step.operands[0], axes=axes, keepdims=op.keepdims)
        if step.large.output.type.rank == 0:
            count = O.reshape(count, ())
        return _left(x, axes, keepdims=op.keepdims), O.div(total, count)
    return _left(x, axes, keepdims=op.keepdims), step.write()


def _prefix(step: Step, op: Any) -> list[Extent]:
    (x,) = step.extents
    axis = op.axis % len(x)
    step.require(is_leading(x[axis]), "it runs along several dimensions")
    if op.reverse:
        step.overwrite(0, axis, op.start)
    return list(x)


def _selection(step: Step, op: Any) -> list[Extent]:
    (x,) = step.extents
    axis = op.axis % len(x)
    step.require(is_leading(x[axis]) and not op.last, "it selects the last of several elements")
    step.overwrite(0, axis, op.start(step.large.inputs[0].element))
    return _left(x, (axis,), keepdims=op.keepdims)


def _trilu(step: Step, _: Any) -> list[Extent]:
    (x,) = step.extents
    step.require(all(map(is_leading, x[-2:])), "a diagonal of several dimensions")
    return list(x)


def _resample(step: Step, op: Any) -> list[Extent]:
    x, indices, weights = step.extents
    known = step.small.inputs[1].const
    axis = op.axis % len(x)
    step.require(
        known is not None and bool((known >= 0).all()) and is_leading(x[axis]),
        "indices into a padded dimension",
    )
    step.require(indices == weights and is_whole(indices[0]), "its taps depend on the size")
    step.require(
        known is not None and int(known.max(initial=0)) < max(1, sizes(x[axis])[0]),
        "indices point into the padding",
    )
    return [*x[:axis], indices[1], *x[axis + 1 :]]


# Operators whose attributes hold sizes; their rules compare them.
_SIZED = (Reshape, Expand, Slice, WINDOWED)
RULES: dict[Any, Rule] = {
    Elementwise: _elementwise,
    Reshape: _reshape,
    Transpose: _transpose,
    Expand: _expand,
    Tile: _tile,
    Slice: _slice,
    Pad: _pad,
    Unpad: _unpad,
    Concat: _concat,
    Gather: _gather,
    Matmul: _matmul,
    Einsum: _einsum,
    Softmax: _softmax,
    LayerNorm: _layer_norm,
    Reduction: _reduction,
    Prefix: _prefix,
    Selection: _selection,
    Trilu: _trilu,
    Resample: _resample,
    WINDOWED: windowed,
}
