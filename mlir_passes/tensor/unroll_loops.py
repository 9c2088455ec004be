# SPDX-License-Identifier: Apache-2.0
"""unroll-loops: unrolls loops by the factors of their schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import operations_with, remove_attributes
from xtc.ir.attributes import UNROLL, UNROLL_PREFIX
from xtc.ir.mlir import IntegerAttr, Operation, UnitAttr
from xtc.ir.passes import Pass
from xtc.ir.transform import ANY, apply_script, match_each


@dataclass(frozen=True)
class UnrollLoops(Pass):
    """Unroll the loops that carry `xtc.unroll`, inner loops first.

    Before:
        scf.for %i = %c0 to %c4 step %c1 { body(%i) } {xtc.unroll = 4}
    After:
        body(0); body(1); body(2); body(3)

    The pass runs on memrefs: bufferization would analyze each copy of a body on tensors.
    """

    name: ClassVar[str] = "unroll-loops"

    def run(self, module: Operation) -> None:
        loops = operations_with(module, UNROLL)
        lines, handles = [], {}
        for number, loop in enumerate(reversed(loops)):
            factor = IntegerAttr(loop.attributes[UNROLL]).value
            mark = f"{UNROLL_PREFIX}{number}"
            loop.attributes[mark] = UnitAttr.get(loop.context)
            handles[mark] = f"%l{number}"
            lines.append(f"transform.loop.unroll %l{number} {{factor = {factor}}} : {ANY}")
        if lines:
            matches = match_each(module, handles, f"{UNROLL_PREFIX}all")
            apply_script(module, "\n".join(matches + lines))
            remove_attributes(module, UNROLL_PREFIX, UNROLL)
