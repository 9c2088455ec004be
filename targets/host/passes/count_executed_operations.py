# SPDX-License-Identifier: Apache-2.0
"""count-executed-operations: counts the operations that kernels execute, for profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import NODE, OPERATIONS
from xtc.ir.mlir import IntegerAttr, IntegerType, Operation, all_operations
from xtc.ir.passes import Pass
from xtc_targets.host.passes._executed_operations import ExecutedOperations


@dataclass(frozen=True)
class CountExecutedOperations(Pass):
    """Annotate each call of a kernel with the number of floating-point operations it executes.

    Before:
        call @net.kernel.a(%x) {xtc.node = "a"}
        func.func private @net.kernel.a(%x) { scf.for %i = 0 to 64 { math.fma : vector<16xf32> } }
    After:
        call @net.kernel.a(%x) {xtc.node = "a", xtc.operations = 2048 : i64}

    The graph counts a convolution by its definition, however it is computed. This count has the
    multiplications of Winograd's algorithm, the additions of its transforms, the polynomials of an
    exponential, and the padding of tiles. The pass runs on loops and vectors. Calls whose loops or
    branches depend on run-time values get no number.
    """

    name: ClassVar[str] = "count-executed-operations"

    def run(self, module: Operation) -> None:
        executed = ExecutedOperations(module)
        calls = [
            op for op in all_operations(module) if op.name == "func.call" and NODE in op.attributes
        ]
        with module.context:
            for call in calls:
                found = executed.of_call(call)
                if found is not None:
                    number = IntegerAttr.get(IntegerType.get_signless(64), int(found))
                    call.attributes[OPERATIONS] = number
