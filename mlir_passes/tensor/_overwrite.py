# SPDX-License-Identifier: Apache-2.0
"""Lets fused operations overwrite operands that none of them reads later."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.linalg_ops import owner
from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Value
from xtc_passes.tensor._tile import Member

_MOST_VALUES = 16
"""The most values of a chain that share a buffer. For each operation on a buffer, bufferization
compares all reads with all writes: for a chain in one buffer, its time is cubic in the length."""


def overwrite_inputs(view: FunctionView, members: Sequence[Member]) -> None:
    """Let elementwise members overwrite an input that is not read afterwards."""
    created = {member.nest.result for member in members}
    for member in members:
        nest = member.nest
        if nest.reductions or nest.op.name != "linalg.generic" or nest.reads_destination:
            continue
        destination = nest.op.operands[nest.destination]
        if view.is_produced_by(destination, "tensor.empty"):
            for value in list(nest.op.operands)[: nest.destination]:
                fits = value in created and value.type == destination.type
                if fits and _ends_in(view, value, nest) and _has_room(value):
                    nest.op.operands[nest.destination] = value
                    break


def _ends_in(view: FunctionView, value: Value, nest: Structured) -> bool:
    """Whether `nest` reads the value last, and with the index with which it writes its result."""
    here = view.positions[nest.op]
    return all(
        nest.indices[number] == nest.indices[nest.destination]
        if op == nest.op
        else view.positions.get(op, here) < here
        for op, number in view.uses[value]
    )


def _has_room(value: Value) -> bool:
    """Whether few earlier values share the buffer of this value."""
    for _ in range(_MOST_VALUES):
        op = owner(value)
        if op is None or op.name != "linalg.generic" or len(op.results) > 1:
            return True
        value = op.operands[len(op.operands) - 1]
    return False
