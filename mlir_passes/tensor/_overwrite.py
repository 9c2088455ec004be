# SPDX-License-Identifier: Apache-2.0
"""Lets fused operations overwrite operands that none of them reads any more."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Value
from xtc_passes.tensor._tile import Member

_MOST_VALUES = 16
"""That follow each other in a buffer. Bufferization compares all reads of a buffer with all writes,
for each operation on it: of a long chain in a single buffer, that takes the cube of its length."""


def overwrite_inputs(view: FunctionView, members: Sequence[Member]) -> None:
    """Let elementwise members write over an input that no one reads any more."""
    made = {member.nest.result for member in members}
    for member in members:
        nest = member.nest
        if nest.reductions or nest.op.name != "linalg.generic" or nest.reads_destination:
            continue
        destination = nest.op.operands[nest.destination]
        if view.is_produced_by(destination, "tensor.empty"):
            for value in list(nest.op.operands)[: nest.destination]:
                fits = value in made and value.type == destination.type
                if fits and _ends_in(view, value, nest) and _has_room(value):
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


def _has_room(value: Value) -> bool:
    """Whether few values were in the buffer of this one before."""
    for _ in range(_MOST_VALUES):
        op = owner(value)
        if op is None or op.name != "linalg.generic" or len(op.results) > 1:
            return True
        value = op.operands[len(op.operands) - 1]
    return False
