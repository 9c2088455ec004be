# SPDX-License-Identifier: Apache-2.0
"""Linalg operations and their bodies, created by operation name.

The Python classes of the linalg dialect take longer to import than all other dialects together, and
only the operations of this file are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.structured import body_operations, is_shaped
from xtc.ir.builders.rebuild import copy_with
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
    IntegerType,
    Operation,
    RankedTensorType,
    Type,
    Value,
)


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

    It has a result for each tensor among the destinations.
    """
    maps = [affine_map_attribute(row, loops) for _, row in operands]
    values = [value for value, _ in operands]
    inputs = len(values) - destinations
    described = {
        **attributes,
        "indexing_maps": ArrayAttr.get(maps),
        "iterator_types": _iterators(loops, reductions),
    }
    return structured_op("generic", values[:inputs], values[inputs:], described, ip)


def structured_op(
    name: str,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    attributes: Mapping[str, Attribute],
    ip: InsertionPoint | None = None,
) -> Operation:
    """`linalg.<name>` with these inputs and destinations and an empty body."""
    segments = DenseI32ArrayAttr.get([len(inputs), len(outputs)])
    op = Operation.create(
        f"linalg.{name}",
        [value.type for value in outputs if isinstance(value.type, RankedTensorType)],
        [*inputs, *outputs],
        {**attributes, "operandSegmentSizes": segments},
        regions=1,
        ip=ip,
    )
    body_of(op, [*inputs, *outputs])
    return op


def transpose(
    source: Value,
    into: Value,
    permutation: Sequence[int],
    attributes: Mapping[str, Attribute],
    ip: InsertionPoint | None = None,
) -> Operation:
    """A `linalg.transpose`: dimension d of the result is dimension `permutation[d]` of `source`."""
    permuted = {**attributes, "permutation": DenseI64ArrayAttr.get(list(permutation))}
    types = [into.type] if isinstance(into.type, RankedTensorType) else []
    op = Operation.create("linalg.transpose", types, [source, into], permuted, regions=1, ip=ip)
    body_of(op, [source, into])
    _copy_first(op)
    return op


def fill(
    scalar: Value,
    into: Value,
    attributes: Mapping[str, Attribute] | None = None,
    ip: InsertionPoint | None = None,
) -> Operation:
    """A `linalg.fill` of a tensor or a buffer with `scalar`."""
    op = structured_op("fill", [scalar], [into], attributes or {}, ip)
    _copy_first(op)
    return op


def copy(
    source: Value,
    into: Value,
    attributes: Mapping[str, Attribute] | None = None,
    ip: InsertionPoint | None = None,
) -> Operation:
    """A `linalg.copy` between tensors or buffers."""
    op = structured_op("copy", [source], [into], attributes or {}, ip)
    _copy_first(op)
    return op


def yield_(values: Sequence[Value], ip: InsertionPoint | None = None) -> Operation:
    """The terminator of a body, with the new elements of the destinations."""
    return Operation.create("linalg.yield", operands=list(values), ip=ip)


def copy_body(source: Operation, op: Operation) -> None:
    """Copy the body of `source` to a `linalg.generic` with the same number of operands."""
    body = op.regions[0].blocks[0]
    values = dict(zip(source.regions[0].blocks[0].arguments, body.arguments, strict=True))
    ip = InsertionPoint(body)
    for inner in body_operations(source):
        copy_with(inner, values, ip)


def loop_index(loop: int, ip: InsertionPoint | None = None) -> Value:
    """The `linalg.index` of a loop, in a body."""
    number = {"dim": IntegerAttr.get(IntegerType.get_signless(64), loop)}
    op = Operation.create("linalg.index", [IndexType.get()], attributes=number, ip=ip)
    return op.results[0]


def _copy_first(op: Operation) -> None:
    """Yield the first operand's element."""
    body = op.regions[0].blocks[0]
    yield_([body.arguments[0]], InsertionPoint(body))


def body_of(op: Operation, values: Sequence[Value]) -> Block:
    """Append a block to a linalg operation, with an element of each operand as arguments."""
    block: Block = op.regions[0].blocks.append(*(_element_type(value) for value in values))
    return block


def _element_type(value: Value) -> Type:
    return value.type.element_type if is_shaped(value) else value.type


def _iterators(loops: int, reductions: Sequence[int]) -> Attribute:
    """Parsed as one array, since a lone attribute of the dialect loads its Python classes."""
    kinds = ("reduction" if loop in reductions else "parallel" for loop in range(loops))
    return Attribute.parse(f"[{', '.join(f'#linalg.iterator_type<{kind}>' for kind in kinds)}]")


def affine_map_attribute(row: Sequence[Index], loops: int) -> AffineMapAttr:
    """The indexing map of an operand."""
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
