# SPDX-License-Identifier: Apache-2.0
"""Transposes square blocks in registers, and evaluates the bodies of operations on vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xtc.ir.analysis.structured import Structured, body_operations
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.builders.vector_pieces import broadcast
from xtc.ir.mlir import Operation, Value, VectorType, vector


def transposed(rows: Sequence[Value]) -> list[Value]:
    """The columns of a square of words, by log2(side) rounds of perfect shuffles."""
    lanes, half = len(rows), len(rows) // 2
    order = [element for lane in range(lanes) for element in (lane, lanes + lane)]
    masks = [order[:lanes], order[lanes:]]
    values = list(rows)
    for _ in range(lanes.bit_length() - 1):
        pairs = [(values[n], values[n + half]) for n in range(half)]
        values = [vector.shuffle(*pair, mask) for pair in pairs for mask in masks]
    return values


def runs_on_vectors(nest: Structured) -> bool:
    """Whether each operation of the body also works on vectors."""
    *ops, _ = body_operations(nest.op)
    return all(op.name.startswith(("arith.", "math.")) and len(op.results) == 1 for op in ops)


def computed(nest: Structured, arguments: Mapping[int, Value], lanes: int) -> Value:
    """The result of the body on vectors, with one vector for each of these operands."""
    values = {nest.body.arguments[number]: value for number, value in arguments.items()}
    *ops, end = body_operations(nest.op)
    for op in ops:
        if op.name == "arith.constant":
            values[op.results[0]] = broadcast(_clone(op), lanes)
            continue
        operands = [values.get(operand) or broadcast(operand, lanes) for operand in op.operands]
        type = VectorType.get([lanes], op.results[0].type)
        values[op.results[0]] = rebuilt(op, operands, [type]).results[0]
    (result,) = end.operands
    return values.get(result) or broadcast(result, lanes)


def _clone(op: Operation) -> Value:
    return rebuilt(op, [], [op.results[0].type]).results[0]
