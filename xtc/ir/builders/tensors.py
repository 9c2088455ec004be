# SPDX-License-Identifier: Apache-2.0
"""Makes the operations that rewrites of loop nests need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import is_shaped, shape_of
from xtc.ir.mlir import (
    AffineAddExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineMapAttr,
    AffineMulExpr,
    ArrayAttr,
    Attribute,
    Block,
    DenseI32ArrayAttr,
    DenseI64ArrayAttr,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    MemRefType,
    Operation,
    RankedTensorType,
    StridedLayoutAttr,
    Type,
    Value,
)

_DYNAMIC = -(1 << 63)  # how MLIR writes a size or offset that is an operand

Offset: TypeAlias = Value | int


def index_constant(value: int, ip: InsertionPoint) -> Value:
    """A constant of type index."""
    type = IndexType.get()
    attributes = {"value": IntegerAttr.get(type, value)}
    return Operation.create("arith.constant", [type], attributes=attributes, ip=ip).results[0]


def tensor_type(shape: Sequence[Offset], like: Value) -> RankedTensorType:
    """A tensor of this shape with the elements of `like`; a size that is a value is dynamic."""
    return RankedTensorType.get(_static(shape), like.type.element_type)


def empty(shape: Sequence[int], like: Value, ip: InsertionPoint) -> Value:
    """A tensor without contents, of the elements of `like`."""
    return Operation.create("tensor.empty", [tensor_type(shape, like)], ip=ip).results[0]


def extract_slice(
    source: Value,
    offsets: Sequence[Offset],
    sizes: Sequence[Offset],
    ip: InsertionPoint,
    *,
    dropped: int = 0,
) -> Value:
    """The part of a tensor that begins at `offsets`; `source` itself where that is all of it.

    It has not the first `dropped` dimensions, which have size 1.
    """
    if tuple(sizes) == shape_of(source) and not dropped:
        return source
    operands, attributes = _slice(1, offsets, sizes)
    type = tensor_type(sizes[dropped:], source)
    return Operation.create(
        "tensor.extract_slice", [type], [source, *operands], attributes, ip=ip
    ).results[0]


def slice_offsets(op: Operation) -> list[Offset]:
    """Where a `tensor.extract_slice` begins, in each dimension."""
    values = iter(list(op.operands)[1:])
    statics = DenseI64ArrayAttr(op.attributes["static_offsets"])
    return [next(values) if start < 0 else start for start in statics]


def insert_slice(
    source: Value,
    into: Value,
    offsets: Sequence[Offset],
    ip: InsertionPoint,
    sizes: Sequence[Offset] | None = None,
) -> Value:
    """`into` with `source` at `offsets`, step 1; `sizes` says those that are values."""
    operands, attributes = _slice(2, offsets, shape_of(source) if sizes is None else sizes)
    return Operation.create(
        "tensor.insert_slice", [into.type], [source, into, *operands], attributes, ip=ip
    ).results[0]


def insert_in_parallel(
    source: Value,
    into: Value,
    offsets: Sequence[Offset],
    ip: InsertionPoint,
) -> None:
    """Write `source` to `into`, what several iterations share, at `offsets`, step 1."""
    operands, attributes = _slice(2, offsets, shape_of(source))
    Operation.create(
        "tensor.parallel_insert_slice", [], [source, into, *operands], attributes, ip=ip
    )


def subview(
    source: Value,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    ip: InsertionPoint,
) -> Value:
    """The elements `offset + i * stride`, i below `size`, of each dimension of a buffer."""
    old = source.type
    steps, start = old.get_strides_and_offset()
    if start != _DYNAMIC:
        start += sum(step * offset for step, offset in zip(steps, offsets, strict=True))
    layout = StridedLayoutAttr.get(
        start, [step * stride for step, stride in zip(steps, strides, strict=True)]
    )
    type = MemRefType.get(list(sizes), old.element_type, layout, old.memory_space)
    _, attributes = _window(offsets, sizes, strides)
    attributes["operandSegmentSizes"] = DenseI32ArrayAttr.get([1, 0, 0, 0])
    return Operation.create("memref.subview", [type], [source], attributes, ip=ip).results[0]


def linear_offset(terms: Sequence[tuple[Offset, int]], ip: InsertionPoint) -> Offset:
    """The sum of `offset * factor`, a number where all offsets are."""
    total: Offset = sum(offset * factor for offset, factor in terms if isinstance(offset, int))
    for offset, factor in terms:
        if factor and not isinstance(offset, int):
            total = _add(total, _times(offset, factor, ip), ip)
    return total


def _times(value: Value, factor: int, ip: InsertionPoint) -> Value:
    if factor == 1:
        return value
    operands = [value, index_constant(factor, ip)]
    return Operation.create("arith.muli", [value.type], operands, ip=ip).results[0]


def _add(left: Offset, right: Value, ip: InsertionPoint) -> Value:
    if isinstance(left, int):
        if left == 0:
            return right
        left = index_constant(left, ip)
    return Operation.create("arith.addi", [right.type], [left, right], ip=ip).results[0]


def _window(
    offsets: Sequence[Offset], sizes: Sequence[int], strides: Sequence[int]
) -> tuple[list[Value], dict[str, Attribute]]:
    return _dynamic(offsets), {
        "static_offsets": DenseI64ArrayAttr.get(_static(offsets)),
        "static_sizes": DenseI64ArrayAttr.get(list(sizes)),
        "static_strides": DenseI64ArrayAttr.get(list(strides)),
    }


def _slice(
    tensors: int, offsets: Sequence[Offset], sizes: Sequence[Offset]
) -> tuple[list[Value], dict[str, Attribute]]:
    """Operands after the tensors, and attributes, of a slice of step 1."""
    starts, extents = _dynamic(offsets), _dynamic(sizes)
    _, attributes = _window(offsets, _static(sizes), [1] * len(sizes))
    counts = [1] * tensors + [len(starts), len(extents), 0]
    attributes["operandSegmentSizes"] = DenseI32ArrayAttr.get(counts)
    return [*starts, *extents], attributes


def _dynamic(numbers: Sequence[Offset]) -> list[Value]:
    return [number for number in numbers if not isinstance(number, int)]


def _static(numbers: Sequence[Offset]) -> list[int]:
    return [number if isinstance(number, int) else _DYNAMIC for number in numbers]


def generic(
    operands: Sequence[tuple[Value, Sequence[Index]]],
    loops: int,
    reductions: Sequence[int],
    attributes: Mapping[str, Attribute],
    ip: InsertionPoint,
    *,
    destinations: int = 1,
) -> Operation:
    """A `linalg.generic` with an empty body; the last operands are its destinations.

    It has a result for each that is a tensor.
    """
    maps = [affine_map_attribute(row, loops) for _, row in operands]
    values = [value for value, _ in operands]
    inputs = len(values) - destinations
    op = Operation.create(
        "linalg.generic",
        [one.type for one in values[inputs:] if isinstance(one.type, RankedTensorType)],
        values,
        {
            **attributes,
            "indexing_maps": ArrayAttr.get(maps),
            "iterator_types": _iterators(loops, reductions),
            "operandSegmentSizes": DenseI32ArrayAttr.get([inputs, destinations]),
        },
        regions=1,
        ip=ip,
    )
    body_of(op, values)
    return op


def body_of(op: Operation, values: Sequence[Value]) -> Block:
    """Give a linalg operation a block that takes an element of each of its operands."""
    block: Block = op.regions[0].blocks.append(*(_element_type(value) for value in values))
    return block


def _element_type(value: Value) -> Type:
    return value.type.element_type if is_shaped(value) else value.type


def _iterators(loops: int, reductions: Sequence[int]) -> Attribute:
    """Parsed as one array: attributes of a dialect on their own load its Python classes."""
    kinds = ("reduction" if loop in reductions else "parallel" for loop in range(loops))
    return Attribute.parse(f"[{', '.join(f'#linalg.iterator_type<{kind}>' for kind in kinds)}]")


def affine_map_attribute(row: Sequence[Index], loops: int) -> AffineMapAttr:
    """The index map of an operand."""
    return AffineMapAttr.get(AffineMap.get(loops, 0, [_affine_expr(index) for index in row]))


def _affine_expr(index: Index) -> AffineExpr:
    terms = [
        AffineDimExpr.get(loop)
        if factor == 1
        else AffineMulExpr.get(AffineDimExpr.get(loop), AffineConstantExpr.get(factor))
        for loop, factor in index.factors
    ]
    if index.offset or not terms:
        terms.append(AffineConstantExpr.get(index.offset))
    total = terms[0]
    for term in terms[1:]:
        total = AffineAddExpr.get(total, term)
    return total
