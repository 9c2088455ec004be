# SPDX-License-Identifier: Apache-2.0
"""divide-by-reciprocals: replaces divisions by multiplications where that is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.fast_math import allows
from xtc.ir.mlir import FloatAttr, InsertionPoint, Operation, all_operations, arith
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class DivideByReciprocals(Pass):
    """Multiply by the reciprocal wherever the division allows it.

    Before:
        %q = arith.divf %a, %b fastmath<arcp> : f32
    After:
        %r = arith.divf %one, %b : f32
        %q = arith.mulf %a, %r : f32

    Compilers hoist the reciprocal out of a loop over `%a`. LLVM would also transform the division
    itself, because of the flag, but only if the loop is still a loop: the last bits would then
    depend on its extent.
    """

    name: ClassVar[str] = "divide-by-reciprocals"

    def run(self, module: Operation) -> None:
        for op in all_operations(module):
            if op.name == "arith.divf" and allows(op, "arcp"):
                _replace(op)


def _replace(op: Operation) -> None:
    element = op.results[0].type
    with InsertionPoint(op), op.location:
        unity = arith.constant(element, FloatAttr.get(element, 1.0))
        product = arith.mulf(op.operands[0], arith.divf(unity, op.operands[1]))
    op.results[0].replace_all_uses_with(product)
    op.erase()
