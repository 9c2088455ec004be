# SPDX-License-Identifier: Apache-2.0
"""contract-multiply-adds: a multiplication and its addition may become one instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import type_bits
from xtc.ir.fast_math import allow
from xtc.ir.mlir import Operation, all_operations
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class ContractMultiplyAdds(Pass):
    """Mark a `mulf` and the `addf` that is its only user as contractible.

    Before:
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %t, %p : f32
    After:
        %p = arith.mulf %a, %b fastmath<contract> : f32
        %s = arith.addf %t, %p fastmath<contract> : f32

    A fused multiply-add rounds once, the separate operations round twice. The flag allows nothing
    else.

    Attributes:
        least_bits: width of the narrowest floats whose multiplications are marked.
    """

    name: ClassVar[str] = "contract-multiply-adds"
    least_bits: int = 16

    def run(self, module: Operation) -> None:
        for op in all_operations(module):
            if op.name == "arith.mulf" and type_bits(op.results[0].type) >= self.least_bits:
                uses = list(op.results[0].uses)
                if len(uses) == 1 and uses[0].owner.name == "arith.addf":
                    allow(op, "contract")
                    allow(uses[0].owner, "contract")
