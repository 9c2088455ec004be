# SPDX-License-Identifier: Apache-2.0
"""Lets operations that are computed together write over what none of them reads any more."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.core.mlir import ArrayAttr, DenseI32ArrayAttr, InsertionPoint, Operation, Value
from xtc_passes._function_view import FunctionView
from xtc_passes._linalg import dict_of
from xtc_passes._structured import Structured
from xtc_passes._tile import Member


def overwrite_inputs(view: FunctionView, members: Sequence[Member]) -> None:
    """Let elementwise members write over an input that no one reads any more."""
    made = {member.nest.result for member in members}
    for member in members:
        nest = member.nest
        if nest.reductions or nest.op.name != "linalg.generic" or nest.reads_destination:
            continue
        destination = nest.op.operands[nest.destination]
        if view.is_made_by(destination, "tensor.empty"):
            for value in list(nest.op.operands)[: nest.destination]:
                if value in made and value.type == destination.type and _ends_in(view, value, nest):
                    nest.op.operands[nest.destination] = value
                    break


def _ends_in(view: FunctionView, value: Value, nest: Structured) -> bool:
    """True where `nest` is the last to read the value, and reads it where it writes its result."""
    here = view.positions[nest.op]
    return all(
        nest.indices[number] == nest.indices[nest.destination]
        if op == nest.op
        else view.positions.get(op, here) < here
        for op, number in view.uses[value]
    )


def read_destination(nest: Structured) -> Operation:
    """The operation with inputs that it writes over read as its destination instead.

    Loops of it then have one tensor in hand. Were it an operand beside the destination, each
    iteration would read a tensor of which the one before has written a part, so the buffer of one
    would be copied for the other. The operation itself where there is no such input.
    """
    op = nest.op
    last = nest.destination
    same = [n for n in range(last) if _is_destination(nest, n)]
    if not same or op.name != "linalg.generic":
        return op
    kept = [n for n in range(last + 1) if n not in same]
    attributes = dict_of(op)
    attributes["indexing_maps"] = ArrayAttr.get([attributes["indexing_maps"][n] for n in kept])
    attributes["operandSegmentSizes"] = DenseI32ArrayAttr.get([len(kept) - 1, 1])
    with op.location, InsertionPoint(op):
        operands = [op.operands[n] for n in kept]
        new = Operation.create(op.name, [nest.result.type], operands, attributes, regions=1)
    nest.body.append_to(new.regions[0])
    body = new.regions[0].blocks[0]
    for number in reversed(same):
        body.arguments[number].replace_all_uses_with(body.arguments[len(body.arguments) - 1])
        body.erase_argument(number)
    nest.result.replace_all_uses_with(new.results[0])
    op.erase()
    return new


def _is_destination(nest: Structured, number: int) -> bool:
    """True where an input is the destination, read where it is written."""
    same_value = nest.op.operands[number] == nest.op.operands[nest.destination]
    return same_value and nest.indices[number] == nest.indices[nest.destination]
