# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations that read a reshaped tensor, computed in the shape of its source."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xtc.ir.analysis.node_names import node_attributes
from xtc.ir.analysis.structured import Structured, body_operations, shape_of, structured
from xtc.ir.attributes import KERNEL, LOOP_SCHEDULE
from xtc.ir.builders.generic import copy_body, generic
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import ArrayAttr, InsertionPoint, IntegerAttr, Operation, OpResult, Value
from xtc_targets.nvgpu.passes._contractions.flat_matrices import Flat, Group, flat

_DENSE = ("linalg.", "tensor.empty", "tensor.collapse_shape", "tensor.expand_shape")
_RESHAPE = "reassociation"


def flatten_readers(expanded: Value) -> None:
    """Compute the elementwise operations that read an expanded tensor before its expansion, and
    the operations that read theirs."""
    waiting = [expanded]
    while waiting:
        value = waiting.pop()
        if not isinstance(value, OpResult) or value.owner.name != "tensor.expand_shape":
            continue
        for user in list(dict.fromkeys(use.owner.operation for use in value.uses)):
            result = _flattened(user, value)
            if result is not None:
                waiting.append(result)


def _flattened(user: Operation, value: Value) -> Value | None:
    """Rewrite an operation that reads the expanded tensor; returns its expanded result."""
    nest = _elementwise(user)
    if nest is None:
        return None
    groups = _groups(nest, list(user.operands).index(value), value)
    if groups is None:
        return None
    shapes = [flat(nest, number, groups) for number in range(len(nest.indices))]
    if any(
        shape is None or (len(shape.dims) < len(row) and not _is_dense(operand))
        for shape, row, operand in zip(shapes, nest.indices, user.operands, strict=True)
    ):
        return None
    with user.location:
        return _rewrite(nest, groups, [shape for shape in shapes if shape is not None])


def _elementwise(op: Operation) -> Structured | None:
    """An elementwise operation that has neither a schedule nor a kernel yet."""
    if op.name != "linalg.generic" or LOOP_SCHEDULE in op.attributes or KERNEL in op.attributes:
        return None
    nest = structured(op)
    if nest is None or nest.reductions or nest.reads_destination or len(op.results) != 1:
        return None
    if any(inner.regions or inner.name == "linalg.index" for inner in body_operations(op)):
        return None
    return nest


def _groups(nest: Structured, number: int, value: Value) -> list[Group] | None:
    """The loops of the expanded dimensions, by the dimension of the source that they replace."""
    row = [index.loop for index in nest.indices[number]]
    if None in row or sorted(loop for loop in row if loop is not None) != list(
        range(len(nest.extents))
    ):
        return None
    parts = ArrayAttr(value.owner.attributes[_RESHAPE])
    dims = [[IntegerAttr(dim).value for dim in ArrayAttr(part)] for part in parts]
    return [Group(tuple(loop for d in part if (loop := row[d]) is not None)) for part in dims]


def _is_dense(value: Value) -> bool:
    """Whether a tensor is a whole buffer, which can be reshaped without a copy."""
    return not isinstance(value, OpResult) or value.owner.name.startswith(_DENSE)


def _rewrite(nest: Structured, groups: Sequence[Group], shapes: Sequence[Flat]) -> Value:
    op, ip = nest.op, InsertionPoint(nest.op)
    operands = [
        (shape.collapse(value, ip), shape.row)
        for value, shape in zip(list(op.operands)[:-1], shapes, strict=False)
    ]
    last, whole = shapes[-1], shape_of(nest.result)
    sizes = [math.prod(whole[dim] for dim in dims) for dims in last.dims]
    into = empty(sizes, nest.result, ip)
    made = generic([*operands, (into, last.row)], len(groups), (), node_attributes(op), ip)
    copy_body(op, made)
    result = last.expand(made.results[0], whole, ip)
    op.results[0].replace_all_uses_with(result)
    op.erase()
    return result
