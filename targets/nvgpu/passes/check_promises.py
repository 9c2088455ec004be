# SPDX-License-Identifier: Apache-2.0
"""check-promises: lets the simulator check the assumptions of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders.functions import declare
from xtc.ir.builders.llvm import call, constant
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerType,
    Operation,
    StringAttr,
    all_operations,
    arith,
)
from xtc.ir.passes import Pass

_REQUIRE = "cuda_require"
_DECLARATION = f"llvm.func @{_REQUIRE}(i32, i32)"


@dataclass(frozen=True)
class CheckPromises(Pass):
    """Replace assertions, which are a kernel's assumptions, by calls of the simulator.

    Before:
        cf.assert %holds, "step:2"
    After:
        %word = arith.extui %holds : i1 to i32
        llvm.call @cuda_require(%word, %c2_i32)

    A GPU does not check them.

    Attributes:
        simulated: whether there are calls; without, assertions are removed.
    """

    name: ClassVar[str] = "check-promises"
    simulated: bool = True

    def run(self, module: Operation) -> None:
        found = [op for op in all_operations(module) if op.name == "cf.assert"]
        with module.context:
            if found and self.simulated:
                declare(module, _DECLARATION)
            for op in found:
                if self.simulated:
                    with op.location:
                        _check(op)
                op.erase()


def _check(op: Operation) -> None:
    ip = InsertionPoint(op)
    number = StringAttr(op.attributes["msg"]).value.partition(":")[2]
    word = arith.extui(IntegerType.get_signless(32), op.operands[0], ip=ip)
    call(_REQUIRE, [word, constant(int(number), ip)], [], ip)
