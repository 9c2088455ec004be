# SPDX-License-Identifier: Apache-2.0
"""Lowers layout conversions and reductions, which exchange elements between threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.builders.numbers import Number, add, divide_unsigned, multiply, remainder_unsigned
from xtc.ir.builders.tile import number_of
from xtc.ir.mlir import (
    F32Type,
    FloatType,
    InsertionPoint,
    IntegerType,
    Operation,
    RankedTensorType,
    Value,
    VectorType,
    arith,
    vector,
)
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.passes._kernels import WARP
from xtc_targets.nvgpu.passes._shuffles import exchanged
from xtc_targets.nvgpu.passes._tiles.bounds import TileBounds, filled
from xtc_targets.nvgpu.passes._tiles.groups import barrier
from xtc_targets.nvgpu.passes._tiles.identity import identity
from xtc_targets.nvgpu.passes._tiles.shared_memory import (
    SharedView,
    read_shared,
    thread_base,
    write_shared,
)

if TYPE_CHECKING:
    from xtc.ir.mlir import Type

_SINGLE_BITS = 32  # of float32
_FLOAT = {"sum": arith.addf, "max": arith.maximumf, "min": arith.minimumf}
_SIGNED = {"sum": arith.addi, "max": arith.maxsi, "min": arith.minsi}


def reshapes(op: Operation) -> bool:
    """Whether a conversion also changes the shape of the tile."""
    before, after = (
        RankedTensorType(value.type).shape for value in (op.operands[0], op.results[0])
    )
    return bool(before != after)


def same_threads(op: Operation) -> bool:
    """Whether each thread has the same elements before and after a conversion, in any order."""
    before, after = known_layout(op.operands[0]), known_layout(op.results[0])
    if reshapes(op) or set(before.local_offsets) != set(after.local_offsets):
        return False
    threads = range(before.spatial_size)
    return all(before.thread_offset(t) == after.thread_offset(t) for t in threads)


def reduced_digits(op: Operation) -> list[tuple[int, int]]:
    """Size and step of each digit of the thread number along a reduction's dimension.

    A digit that spans lanes and warps is split in two: one within a warp, one across warps.
    """
    dim = number_of(op, "dim")
    found = []
    for at, _, size, step in known_layout(op.operands[0]).thread_digits():
        if at == dim:
            lanes = math.gcd(size, max(1, WARP // step))
            found += [(lanes, step), (size // lanes, step * lanes)]
    return [(size, step) for size, step in found if size > 1]


def in_warp(size: int, step: int) -> bool:
    """Whether a digit of the thread number consists of bits of the lane number."""
    return size * step <= WARP and size & (size - 1) == 0 and step & (step - 1) == 0


def crosses_warps(op: Operation) -> bool:
    """Whether a reduction combines elements of several warps."""
    return any(not in_warp(*digit) for digit in reduced_digits(op))


def scratch_shape(op: Operation) -> list[int]:
    """The shape of the memory through which a conversion exchanges elements.

    Elements outside the tile pass through it too, unless the shape changes: fewer conditions, and
    no harm.
    """
    if reshapes(op):
        return list(RankedTensorType(op.operands[0].type).shape)
    before, after = known_layout(op.operands[0]), known_layout(op.results[0])
    return [max(sizes) for sizes in zip(before.shape, after.shape, strict=True)]


def converted(value: Value, op: Operation, thread: Value, shared: Callable[[], Value]) -> Value:
    """Convert the layout of a tile, through shared memory if elements change threads."""
    before, after = known_layout(op.operands[0]), known_layout(op.results[0])
    if same_threads(op):
        positions = {offset: at for at, offset in enumerate(before.local_offsets)}
        order = [positions[offset] for offset in after.local_offsets]
        return permuted(value, order)
    element = VectorType(value.type).element_type
    stored = _widened(value)
    view = SharedView.dense(shared(), op, scratch_shape(op), VectorType(stored.type).element_type)
    barrier(op)
    write_shared(view, before, thread, stored)
    barrier(op)
    if reshapes(op):
        view = view.reshaped(RankedTensorType(op.results[0].type).shape)
    loaded = read_shared(view, after, thread)
    barrier(op)
    return _narrowed(loaded, element)


def permuted(value: Value, order: Sequence[int]) -> Value:
    """A vector of these elements of another vector."""
    if list(order) == list(range(VectorType(value.type).shape[0])):
        return value
    return vector.shuffle(value, value, list(order))


def reduced(value: Value, op: Operation, thread: Value, shared: Callable[[], Value]) -> Value:
    """Reduce a tile along a dimension; each thread gets its elements of the result."""
    source, result = known_layout(op.operands[0]), known_layout(op.results[0])
    dim = number_of(op, "dim")
    element = VectorType(value.type).element_type
    sum_type = type_of_sums(op, element)
    shape = RankedTensorType(op.operands[0].type).shape
    bounds = TileBounds(source, shape, thread_base(source, thread))
    neutral = partial(identity, str(op.attributes["kind"]).strip('"'))
    value = filled(value, bounds, source, dim, neutral)
    combine = _combination(op, element)
    rows = [with_elements(permuted(value, row), sum_type) for row in _rows(source, result, dim)]
    total = rows[0]
    for row in rows[1:]:
        total = combine(total, row)
    for size, step in reduced_digits(op):
        if in_warp(size, step):
            total = _over_lanes(total, size, step, combine)
    if crosses_warps(op):
        total = _over_warps(total, op, thread, shared(), combine)
    return with_elements(total, element)


def type_of_sums(op: Operation, element: Type) -> Type:
    """The type in which a reduction or a scan computes: float32 for sums and products of 16-bit
    floats, so that the result is rounded once."""
    kind = str(op.attributes["kind"]).strip('"')
    is_half = isinstance(element, FloatType) and element.width < _SINGLE_BITS
    return F32Type.get() if is_half and kind in ("sum", "add", "mul") else element


def with_elements(value: Value, element: Type) -> Value:
    """A vector of floats with a wider or narrower element type."""
    type = VectorType(value.type)
    if type.element_type == element:
        return value
    wider = element.width > type.element_type.width
    return (arith.extf if wider else arith.truncf)(VectorType.get(type.shape, element), value)


def _rows(source: RegisterLayout, result: RegisterLayout, dim: int) -> list[list[int]]:
    """Positions of a thread's source elements, one row of the result's order per reduced step."""
    positions = {offset: at for at, offset in enumerate(source.local_offsets)}
    steps = sorted({offset[dim] for offset in source.local_offsets})
    return [[positions[_moved(o, dim, step)] for o in result.local_offsets] for step in steps]


def _moved(offset: tuple[int, ...], dim: int, step: int) -> tuple[int, ...]:
    """The offset with `step` in dimension `dim`."""
    return (*offset[:dim], step, *offset[dim + 1 :])


def _combination(op: Operation, element: Type) -> Callable[[Value, Value], Value]:
    kind = str(op.attributes["kind"]).strip('"')
    table = _SIGNED if isinstance(element, IntegerType) else _FLOAT
    unsigned = {"umax": arith.maxui, "umin": arith.minui}
    found: Callable[[Value, Value], Value] = {**table, **unsigned}[kind]
    return found


def _over_lanes(
    total: Value, size: int, step: int, combine: Callable[[Value, Value], Value]
) -> Value:
    distance = step
    while distance < step * size:
        count = VectorType(total.type).shape[0]
        ip = InsertionPoint.current
        parts = [exchanged(vector.extract(total, [], [n]), distance, ip) for n in range(count)]
        total = combine(total, vector.from_elements(total.type, parts))
        distance *= 2
    return total


def _over_warps(
    total: Value,
    op: Operation,
    thread: Value,
    shared: Value,
    combine: Callable[[Value, Value], Value],
) -> Value:
    """Store each thread's part, and combine those of the threads that differ in these digits."""
    digits = [digit for digit in reduced_digits(op) if not in_warp(*digit)]
    layout = known_layout(op.operands[0])
    type = VectorType(total.type)
    count = type.shape[0]
    view = SharedView.dense(shared, op, (count, layout.spatial_size), type.element_type)
    barrier(op)
    for n in range(count):
        view.store(
            vector.extract_strided_slice(
                VectorType.get([1], type.element_type), total, [n], [1], [1]
            ),
            [n, thread],
        )
    barrier(op)
    first: Number = thread
    for size, step in digits:
        digit = remainder_unsigned(divide_unsigned(thread, step), size)
        first = add(first, multiply(digit, -step))
    result: Value | None = None
    for number in range(math.prod(size for size, _ in digits)):
        position, rest = first, number
        for size, step in digits:
            position = add(position, rest % size * step)
            rest //= size
        parts = [vector.extract(view.load([n, position], 1), [], [0]) for n in range(count)]
        found = vector.from_elements(type, parts)
        result = found if result is None else combine(result, found)
    barrier(op)
    assert result is not None  # noqa: S101  a digit has a size of at least 2
    return result


def _widened(value: Value) -> Value:
    """A vector whose elements have at least 8 bits."""
    type = VectorType(value.type)
    if not isinstance(type.element_type, IntegerType) or type.element_type.width >= 8:
        return value
    return arith.extui(VectorType.get(type.shape, IntegerType.get_signless(8)), value)


def _narrowed(value: Value, element: Type) -> Value:
    type = VectorType(value.type)
    if type.element_type == element:
        return value
    return arith.trunci(VectorType.get(type.shape, element), value)
