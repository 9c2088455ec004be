# SPDX-License-Identifier: Apache-2.0
"""divide-exactly: quotients are those of IEEE 754, by whatever compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.fast_math import deny
from xtc.ir.mlir import Operation, all_operations
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class DivideExactly(Pass):
    """Let no division be a multiplication by the reciprocal.

    Before:
        %q = arith.divf %a, %b fastmath<arcp> : f32
    After:
        %q = arith.divf %a, %b : f32

    LLVM takes the reciprocal out of a loop, a C compiler does not, and last bits differ. For cores
    on which the images of both have the same bits.
    """

    name: ClassVar[str] = "divide-exactly"

    def run(self, module: Operation) -> None:
        for op in all_operations(module):
            if op.name == "arith.divf":
                deny(op, "arcp")
