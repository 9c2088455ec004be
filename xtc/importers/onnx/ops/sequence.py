# SPDX-License-Identifier: Apache-2.0
"""Sequences and optional values, which exist only during import.

Graphs lack them, so their lengths and element indices must be known at import.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import xtc.ops as O
from xtc.importers.compositions.movement import part, same, stacked, starts_of
from xtc.importers.onnx.call import Call, whole_axis
from xtc.importers.onnx.table import reads
from xtc.importers.values import Array, Unsupported, Value, as_tensor, is_sequence, shape_of


def sequence(values: Iterable[Value]) -> Array:
    """A sequence of values."""
    items = list(values)
    result = np.empty(len(items), object)
    for number, value in enumerate(items):
        result[number] = value
    return result


def _items(call: Call, position: int = 0) -> list[Value]:
    value = call.inputs[position] if call.has(position) else None
    if value is None or not is_sequence(value):
        raise Unsupported(f"operand {position} is not a sequence")
    return list(value)


def _position(call: Call, operand: int, count: int) -> int:
    number = int(call.static(operand).reshape(-1)[0])
    if not -count <= number < count:
        raise Unsupported(f"element {number} of a sequence of {count}")
    return number % count


@reads("SequenceEmpty", 11, folds=False)
def sequence_empty(call: Call) -> list[Value]:
    return [sequence([])]


@reads("SequenceConstruct", 11, folds=False)
def sequence_construct(call: Call) -> list[Value]:
    return [sequence(call.value(n) for n in range(len(call.inputs)))]


@reads("SequenceInsert", 11, folds=False)
def sequence_insert(call: Call) -> list[Value]:
    items = _items(call)
    at = len(items)
    if call.has(2):
        at = _position(call, 2, len(items) + 1) if call.static(2).item() >= 0 else -1
        at = at if at >= 0 else _position(call, 2, len(items))
    items.insert(at, call.value(1))
    return [sequence(items)]


@reads("SequenceErase", 11, folds=False)
def sequence_erase(call: Call) -> list[Value]:
    items = _items(call)
    del items[_position(call, 1, len(items)) if call.has(1) else -1]
    return [sequence(items)]


@reads("SequenceAt", 11, folds=False)
def sequence_at(call: Call) -> list[Value]:
    items = _items(call)
    return [items[_position(call, 1, len(items))]]


@reads("SequenceLength", 11, folds=False)
def sequence_length(call: Call) -> list[Value]:
    return [np.asarray(len(_items(call)), np.int64)]


@reads("SplitToSequence", 11, 24, folds=False)
def split_to_sequence(call: Call) -> list[Value]:
    x, axis = call.tensor(0), call.axis(default=0)
    size, kept = x.type.sizes[axis], True
    if not call.has(1):
        sizes, kept = [1] * size, bool(call.attribute("keepdims", 1))
    elif call.rank(1) == 0:
        each = call.ints(1)[0]
        sizes = [min(each, size - start) for start in range(0, size, each)]
    else:
        sizes = call.ints(1)
    if sum(sizes) != size or min(sizes) < 1:
        raise Unsupported(f"parts of {sizes} of dimension {axis}, which has size {size}")
    parts = [part(x, axis, at, at + n) for at, n in zip(starts_of(sizes), sizes, strict=True)]
    if not kept:
        shape = tuple(n for d, n in enumerate(x.type.sizes) if d != axis)
        parts = [O.reshape(piece, shape) for piece in parts]
    return [sequence(parts)]


@reads("ConcatFromSequence", 11, folds=False)
def concat_from_sequence(call: Call) -> list[Value]:
    items = [value for value in _items(call) if 0 not in shape_of(value)]
    if not items:
        raise Unsupported("a sequence without elements")
    rank = len(shape_of(items[0])) + bool(call.attribute("new_axis", 0))
    axis = whole_axis(int(call.required("axis")), rank)
    if all(isinstance(value, np.ndarray) for value in items):
        join = np.stack if call.attribute("new_axis", 0) else np.concatenate
        return [join([np.asarray(value) for value in items], axis=axis)]
    tensors = [as_tensor(value) for value in items]
    if call.attribute("new_axis", 0):
        return [stacked(tensors, axis)]
    return [O.concat(*tensors, axis=axis) if len(tensors) > 1 else same(tensors[0])]


@reads("Optional", 15, 28, folds=False)
@reads("OptionalGetElement", 15, 18, 28, folds=False)
def optional(call: Call) -> list[Value]:
    value = call.inputs[0] if call.has(0) else None
    if value is None:
        raise Unsupported("an absent optional value")
    return [value]


@reads("OptionalHasElement", 15, 18, 28, folds=False)
def optional_has_element(call: Call) -> list[Value]:
    return [np.asarray(call.has(0))]
