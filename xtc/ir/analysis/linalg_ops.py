# SPDX-License-Identifier: Apache-2.0
"""Queries of linalg operations: node ids, indexing maps, loops."""

from __future__ import annotations

import math
from collections.abc import Mapping

from xtc.ir.attributes import NODE_ID_PREFIX
from xtc.ir.mlir import (
    AffineAddExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineMapAttr,
    AffineMulExpr,
    Attribute,
    FloatAttr,
    IntegerAttr,
    Operation,
    OpResult,
    StringAttr,
    Value,
    outer_operations,
)
from xtc.ir.mlir import all_operations as all_operations  # out-of-tree passes import it from here

_RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")
_ARITHMETIC = (*(f"arith.{word}" for word in ("add", "sub", "mul", "div", "max", "min")), "math.")


def operations_with(module: Operation, attribute: str) -> list[Operation]:
    """The operations outside linalg bodies that carry `attribute`, in textual order."""
    return [op for op in outer_operations(module) if attribute in op.attributes]


def marked(module: Operation, prefix: str) -> dict[str, Operation]:
    """Operations by their attribute with this prefix; each attribute is unique."""
    return {
        name: op
        for op in outer_operations(module)
        for name in op.attributes
        if name.startswith(prefix)
    }


def remove_attributes(module: Operation, *prefixes: str) -> None:
    """Remove every attribute whose name has one of these prefixes."""
    for op in outer_operations(module):
        attributes = op.attributes
        for name in attributes.keys():  # noqa: SIM118  a list, faster than the iterator
            if name.startswith(prefixes):
                del attributes[name]


def owner(value: Value) -> Operation | None:
    """The operation that defines a value; None for a block argument."""
    return value.owner.operation if isinstance(value, OpResult) else None


def is_zero(value: Value) -> bool:
    """Whether a number is a constant whose bytes are all zero; minus zero is not."""
    producer = owner(value)
    if producer is None or producer.name != "arith.constant":
        return False
    number = producer.attributes["value"]
    if isinstance(number, IntegerAttr):
        return bool(number.value == 0)
    is_float = isinstance(number, FloatAttr)
    return is_float and number.value == 0 and math.copysign(1, number.value) > 0


def is_zero_fill(op: Operation | None) -> bool:
    """Whether an operation is a fill with the float 0.0."""
    if op is None or op.name != "linalg.fill":
        return False
    scalar = owner(op.operands[0])
    if scalar is None or scalar.name != "arith.constant":
        return False
    number = scalar.attributes["value"]
    return isinstance(number, FloatAttr) and number.value == 0


def is_constant(value: Value) -> bool:
    """Whether a tensor is a constant in memory, possibly transposed."""
    load = owner(value)
    while load is not None and load.name == "linalg.transpose":
        load = owner(load.operands[0])
    if load is not None and load.name == "bufferization.to_tensor":
        load = owner(load.operands[0])
    return load is not None and load.name == "memref.get_global"


def is_from_constants(value: Value, known: dict[Value, int] | None = None) -> bool:
    """Whether linalg and reshapes compute a tensor from constants in memory only.

    `known` caches results across calls.
    """
    known = {} if known is None else known
    left = [value]
    while left:
        sources = _sources(left[-1])
        if left[-1] in known:
            left.pop()
        elif unknown := [source for source in sources if source not in known]:
            left += unknown
        else:
            last = left.pop()
            found = [known[source] for source in sources]
            known[last] = _joined(found) if found else _leaf(last)
    return known[value] == _CONSTANT


_OTHER, _EMPTY, _CONSTANT = range(3)
"""The origins of a tensor."""


def _sources(value: Value) -> list[Value]:
    """The operands of the linalg operation or reshape that computes a tensor."""
    op = owner(value)
    is_computed = op is not None and op.name.startswith(("linalg.", *_RESHAPES))
    return [] if op is None or not is_computed or is_constant(value) else list(op.operands)


def _joined(found: list[int]) -> int:
    """The origin of a tensor from the origins of its sources."""
    return _OTHER if _OTHER in found else max(found)


def _leaf(value: Value) -> int:
    """The origin of a tensor without sources."""
    op = owner(value)
    if op is not None and op.name in ("tensor.empty", "arith.constant"):
        return _EMPTY
    return _CONSTANT if is_constant(value) else _OTHER


def node_id(op: Operation) -> str | None:
    """The graph node of an operation, with its step after a dot, or None."""
    names = [name for name in op.attributes if name.startswith(NODE_ID_PREFIX)]
    return names[0].removeprefix(NODE_ID_PREFIX).removesuffix("_") if names else None


def main_nodes(op: Operation) -> list[str]:
    """The graph nodes whose main operation this is; several if they are fused into it."""
    ids = [name for name in op.attributes if name.startswith(NODE_ID_PREFIX)]
    names = (name.removeprefix(NODE_ID_PREFIX).removesuffix("_") for name in ids)
    return [name for name in names if "." not in name]


def graph_nodes(op: Operation) -> list[str]:
    """The graph nodes that an operation is a step of; several if they are fused into it."""
    ids = [name for name in op.attributes if name.startswith(NODE_ID_PREFIX)]
    names = (name.removeprefix(NODE_ID_PREFIX).removesuffix("_") for name in ids)
    return [name.partition(".")[0] for name in names]


def graph_node(op: Operation) -> str | None:
    """The graph node that an operation is a step of, or None."""
    name = node_id(op)
    return name.partition(".")[0] if name else None


def node_in_function(op: Operation) -> tuple[str, str] | None:
    """The function and the graph node that an operation is a step of, or None.

    Functions of one module may have nodes with equal names.
    """
    node = graph_node(op)
    return None if node is None else (function_name(op), node)


def function_name(op: Operation) -> str:
    """The name of the function around an operation; "" if there is none."""
    around = op
    while around is not None and around.name != "func.func":
        around = around.parent
    return "" if around is None else str(StringAttr(around.attributes["sym_name"]).value)


def plain_loops(index_map: AffineMap) -> list[int]:
    """The loops that alone form an index."""
    return [
        expression.position
        for expression in index_map.results
        if isinstance(expression, AffineDimExpr)
    ]


def index_maps(op: Operation) -> list[AffineMap]:
    """The indexing maps of a linalg.generic, inputs first."""
    return [AffineMapAttr(attribute).value for attribute in op.attributes["indexing_maps"]]


def iterators(op: Operation) -> list[str]:
    """The iterator types of a linalg.generic: "parallel" or "reduction"."""
    return [str(kind).split("<")[1].rstrip(">") for kind in op.attributes["iterator_types"]]


def trip_counts(op: Operation) -> list[int]:
    """The trip counts of a linalg.generic, from the dimensions that a single loop indexes."""
    maps = index_maps(op)
    sizes = [1] * maps[0].n_dims
    for value, index_map in zip(op.operands, maps, strict=True):
        shape = value.type.shape if len(index_map.results) else []
        for expression, size in zip(index_map.results, shape, strict=True):
            if isinstance(expression, AffineDimExpr):
                sizes[expression.position] = size
    return sizes


def sums(op: Operation) -> list[tuple[tuple[int, int], ...]]:
    """The indices of a linalg.generic that are not a single loop, as loops with their factors."""
    found: dict[tuple[tuple[int, int], ...], None] = {}
    for index_map in index_maps(op):
        for expression in index_map.results:
            if not isinstance(expression, AffineDimExpr | AffineConstantExpr):
                found[tuple(_terms(expression).items())] = None
    return list(found)


def _terms(expression: AffineExpr) -> dict[int, int]:
    """The factor of each loop in a sum; 0 for a nonlinear term, such as a division."""
    if isinstance(expression, AffineDimExpr):
        return {expression.position: 1}
    if isinstance(expression, AffineConstantExpr):
        return {}
    left, right = _terms(expression.lhs), _terms(expression.rhs)
    if isinstance(expression, AffineAddExpr):
        return {loop: left.get(loop, 0) + right.get(loop, 0) for loop in [*left, *right]}
    if isinstance(expression, AffineMulExpr) and isinstance(expression.rhs, AffineConstantExpr):
        return {loop: factor * expression.rhs.value for loop, factor in left.items()}
    return dict.fromkeys([*left, *right], 0)


def arithmetic(op: Operation) -> int:
    """The number of arithmetic operations that a linalg.generic executes."""
    body = list(op.regions[0].blocks[0].operations)
    each = sum(1 for inner in body if inner.operation.name.startswith(_ARITHMETIC))
    return each * math.prod(trip_counts(op))


def input_count(op: Operation) -> int:
    """The number of operands of a linalg operation that are not destinations."""
    return len(op.operands) - len(op.results)


def dict_of(op: Operation) -> dict[str, Attribute]:
    """The operation's attributes by name."""
    return {name: op.attributes[name] for name in op.attributes}


def restore(op: Operation, attributes: Mapping[str, Attribute]) -> None:
    """Restore attributes that a rewrite dropped; keep those that it set."""
    for name, value in attributes.items():
        if name not in op.attributes:
            op.attributes[name] = value
