# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations that a kernel computes on its result before it stores it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.structured import Structured, body_operations
from xtc.ir.mlir import InsertionPoint, Value, memref
from xtc_targets.nvgpu.passes import _elements as elements

_ELEMENTWISE = ("arith.", "math.")
"""Operations that apply to tiles as well as to scalars, and thus may form an epilogue."""


def epilogue_of(nest: Structured | None, value: Value, *, permuted: bool = False) -> bool:
    """Whether an operation computes each element of its result from the same element of `value`.

    It may have other operands, such as a bias. If `permuted`, the dimensions of the result may be
    in another order.
    """
    if nest is None or nest.reductions or nest.op.name != "linalg.generic":
        return False
    operands = list(nest.op.operands)
    if operands[: nest.destination].count(value) != 1 or nest.reads_destination:
        return False
    own = nest.indices[operands.index(value)]
    *ops, _ = body_operations(nest.op)
    scalars = all(not op.regions and op.name.startswith(_ELEMENTWISE) for op in ops)
    if not scalars or len(own) != len(nest.extents):
        return False
    if permuted:
        return sorted(index.loop for index in own if index.loop is not None) == sorted(nest.out)
    return own == nest.indices[nest.destination]


def only_reader(
    view: FunctionView, nest: Structured, *, permuted: bool = False
) -> Structured | None:
    """The consumer that can be the epilogue of an operation: its only one, on the same device."""
    uses = view.uses.get(nest.result, [])
    if len(uses) != 1:
        return None
    reader = view.nests.get(uses[0][0])
    if reader is None or reader.device != nest.device:
        return None
    return reader if epilogue_of(reader, nest.result, permuted=permuted) else None


@dataclass(frozen=True, eq=False)
class Epilogue:
    """An elementwise operation on buffers, computed for single elements.

    Attributes:
        nest: the operation.
        number: the operand that the kernel computes; it is not loaded.
    """

    nest: Structured
    number: int

    def store(self, at: Sequence[Value], value: Value, ip: InsertionPoint) -> None:
        """Store the result for `value`, the kernel's element at the indices `at`."""
        own = [index.loop for index in self.nest.indices[self.number]]
        counters = {loop: index for loop, index in zip(own, at, strict=True) if loop is not None}
        values = elements.inputs(self.nest, counters, ip, but=self.number)
        values[self.nest.body.arguments[self.number]] = value
        *ops, end = body_operations(self.nest.op)
        elements.compute(ops, values, counters, ip)
        result = values.get(end.operands[0], end.operands[0])
        to = elements.location(self.nest, self.nest.destination, counters, ip)
        memref.store(result, *to, ip=ip)
