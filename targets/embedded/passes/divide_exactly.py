# SPDX-License-Identifier: Apache-2.0
"""divide-exactly: makes every compiler round divisions as IEEE 754 requires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.fast_math import deny
from xtc.ir.mlir import Operation, all_operations
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class DivideExactly(Pass):
    """Forbid multiplication by the reciprocal in place of a division.

    Before:
        %q = arith.divf %a, %b fastmath<arcp> : f32
    After:
        %q = arith.divf %a, %b : f32

    LLVM hoists the reciprocal out of a loop, a C compiler does not, and the last bits differ. The
    pass is for cores on which both must give the same bits.
    """

    name: ClassVar[str] = "divide-exactly"

    def run(self, module: Operation) -> None:
        for op in all_operations(module):
            if op.name == "arith.divf":
                deny(op, "arcp")
