# SPDX-License-Identifier: Apache-2.0
"""The body of a structured op on buffers, computed by a thread for single elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xtc.ir.analysis.structured import Structured, is_shaped, is_used
from xtc.ir.builders.numbers import index_constant, linear_offset
from xtc.ir.builders.rebuild import copy_with
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import InsertionPoint, IntegerAttr, Operation, Value, memref


def inputs(
    nest: Structured, counters: Mapping[int, Value], ip: InsertionPoint, *, but: int | None = None
) -> dict[Value, Value]:
    """The elements of the inputs at these loop indices by block argument, without operand `but`."""
    return {
        argument: _loaded(nest, number, counters, ip)
        for number, argument in enumerate(list(nest.body.arguments)[: nest.destination])
        if number != but and is_used(argument)
    }


def compute(
    ops: Iterable[Operation],
    values: dict[Value, Value],
    counters: Mapping[int, Value],
    ip: InsertionPoint,
) -> None:
    """Copy operations of a body to `ip`, and add their results to `values`."""
    for op in ops:
        if op.name == "linalg.index":
            values[op.results[0]] = counters[IntegerAttr(op.attributes["dim"]).value]
        else:
            copy_with(op, values, ip)


def location(
    nest: Structured, number: int, counters: Mapping[int, Value], ip: InsertionPoint
) -> tuple[Value, list[Value]]:
    """The buffer of an operand and its indices at these loop indices."""
    indices = []
    for index in nest.indices[number]:
        terms: list[tuple[Offset, int]] = [(counters[loop], f) for loop, f in index.factors]
        found = linear_offset([*terms, (index.offset, 1)], ip)
        indices.append(index_constant(found, ip) if isinstance(found, int) else found)
    return nest.op.operands[number], indices


def _loaded(
    nest: Structured, number: int, counters: Mapping[int, Value], ip: InsertionPoint
) -> Value:
    """The element of an operand at these loop indices; a scalar unchanged."""
    if not is_shaped(nest.op.operands[number]):
        return nest.op.operands[number]
    return memref.load(*location(nest, number, counters, ip), ip=ip)
