# SPDX-License-Identifier: Apache-2.0
"""join-fills: moves the fill of a result into the kernel that computes the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import structured
from xtc.ir.attributes import KERNEL
from xtc.ir.mlir import IntegerAttr, IntegerType, Operation, OpResult, Value, all_operations
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class JoinFills(Pass):
    """Mark an operation and the fill of its result as one launch.

    Before:
        %zero = linalg.fill ins(%c0) outs(%empty)
        %c = linalg.matmul ins(%a, %b) outs(%zero)
    After:
        %zero = linalg.fill {xtc.kernel = 0} ins(%c0) outs(%empty)
        %c = linalg.matmul {xtc.kernel = 0} ins(%a, %b) outs(%zero)

    Tasklets then fill their tiles in WRAM, without extra accesses to the result. A fill with other
    users stays a separate launch. So does that of a pooling, because its window operand has only a
    shape and kernels allocate nothing in MRAM.
    """

    name: ClassVar[str] = "join-fills"

    def run(self, module: Operation) -> None:
        number = 0
        for op in all_operations(module):
            nest = structured(op)
            if nest is None or not op.results or not nest.reads_destination:
                continue
            if any(map(_is_empty, list(op.operands)[: nest.destination])):
                continue
            fill = _only_for(op, op.operands[nest.destination])
            if fill is not None:
                i64 = IntegerType.get_signless(64, op.context)
                for member in (fill, op):
                    member.attributes[KERNEL] = IntegerAttr.get(i64, number)
                number += 1


def _is_empty(value: Value) -> bool:
    return isinstance(value, OpResult) and value.owner.operation.name == "tensor.empty"


def _only_for(op: Operation, value: Value) -> Operation | None:
    """The fill that produces a value whose only use is in `op`, or None."""
    if not isinstance(value, OpResult):
        return None
    fill = value.owner.operation
    uses = [use.owner.operation for use in value.uses]
    return fill if fill.name == "linalg.fill" and uses == [op] else None
