# SPDX-License-Identifier: Apache-2.0
"""The modelled cost of operations on scalars and vectors, outside of linalg."""

from __future__ import annotations

import math

from xtc.ir.mlir import FloatType, IntegerType, Operation, OpResult, Type, Value, VectorType
from xtc_targets.mppa.description import COOLIDGE_V2

TYPES = {"f32": 0, "f16": 1, "i8": 2}
OTHER = 3
"""The values of dev_type in `csrc/dev.h`."""

_LINE = COOLIDGE_V2.load_bytes_per_cycle
_MULTIPLICATIONS = ("arith.mulf", "arith.muli")
_ADDITIONS = ("arith.addf", "arith.addi")
_FUSED = ("math.fma", "vector.fma")
_WIDENED = ("arith.extf", "arith.extsi", "arith.extui")
_STORES = {"memref.store": 0, "vector.store": 0, "vector.transfer_write": 0}
_ADDRESSES = ("arith.index_cast", "arith.index_castui", "arith.constant")


def cost(op: Operation) -> tuple[int, int]:
    """The type and the number of multiply-adds of one execution; (OTHER, 0) for none."""
    if op.name in _FUSED:
        return _type_of(op.operands[0]), _lanes(op.results[0].type)
    if op.name in _MULTIPLICATIONS and _is_added(op):
        return _type_of(op.operands[0]), _lanes(op.results[0].type)
    if op.name in _ADDITIONS and any(_is_multiplication(operand) for operand in op.operands):
        return OTHER, 0
    if op.name.startswith(("arith.", "math.")) and op.name not in _ADDRESSES:
        numbers = [*op.operands, *op.results]
        if all(_is_number(value.type) for value in numbers):
            return OTHER, max(_lanes(value.type) for value in numbers)
    return OTHER, 0


def store_cost(op: Operation) -> int:
    """The number of full-width stores of an operation; at least 1 for a store."""
    if op.name not in _STORES:
        return 0
    type = op.operands[_STORES[op.name]].type
    element = type.element_type if isinstance(type, VectorType) else type
    width = element.width if isinstance(element, IntegerType | FloatType) else 64
    return max(1, -(-_lanes(type) * width // 8 // _LINE))


def _lanes(type: Type) -> int:
    return math.prod(type.shape) if isinstance(type, VectorType) else 1


def _is_number(type: Type) -> bool:
    element = type.element_type if isinstance(type, VectorType) else type
    return isinstance(element, IntegerType | FloatType)


def _is_added(multiplication: Operation) -> bool:
    """Whether the only user of a multiplication is an addition."""
    users = [use.owner.operation for use in multiplication.results[0].uses]
    return (
        _is_number(multiplication.results[0].type)
        and len(users) == 1
        and users[0].name in _ADDITIONS
    )


def _is_multiplication(value: Value) -> bool:
    return (
        isinstance(value, OpResult)
        and value.owner.name in _MULTIPLICATIONS
        and _is_added(value.owner.operation)
    )


def _type_of(operand: Value) -> int:
    """The type of an operand before it is widened or broadcast to all lanes."""
    while isinstance(operand, OpResult) and operand.owner.name in (*_WIDENED, "vector.broadcast"):
        operand = operand.owner.operands[0]
    type = operand.type
    return TYPES.get(str(type.element_type if hasattr(type, "element_type") else type), OTHER)
