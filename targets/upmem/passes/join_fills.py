# SPDX-License-Identifier: Apache-2.0
"""join-fills: what fills a result is a part of the kernel that computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import structured
from xtc.ir.attributes import KERNEL
from xtc.ir.mlir import IntegerAttr, IntegerType, Operation, OpResult, Value, all_operations
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class JoinFills(Pass):
    """Let an operation and the fill of its result be one launch.

    Before:
        %zero = linalg.fill ins(%c0) outs(%empty)
        %c = linalg.matmul ins(%a, %b) outs(%zero)
    After:
        %zero = linalg.fill {xtc.kernel = 0} ins(%c0) outs(%empty)
        %c = linalg.matmul {xtc.kernel = 0} ins(%a, %b) outs(%zero)

    So tasklets fill their tiles, and the result is neither written nor read for it. A fill that has
    other users stays a launch, as does that of a pool, whose window has a shape alone: kernels
    allocate nothing in MRAM.
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
    """The fill that gives a value which only `op` uses, and once."""
    if not isinstance(value, OpResult):
        return None
    fill = value.owner.operation
    uses = [use.owner.operation for use in value.uses]
    return fill if fill.name == "linalg.fill" and uses == [op] else None
