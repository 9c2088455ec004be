# SPDX-License-Identifier: Apache-2.0
"""keep-outer-loops: LLVM does not unroll loops that have loops inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.mlir import Attribute, Operation, WalkResult
from xtc.core.passes import Pass


@dataclass(frozen=True)
class KeepOuterLoops(Pass):
    """Ask LLVM to leave alone each loop that has a loop inside.

    LLVM unrolls loops of few iterations before it vectorises: a loop over eight rows becomes eight
    copies of all that is in it, each vectorised anew, which costs most of the compilation and gains
    nothing. `convert-scf-to-cf` hands the attribute on to the branch that closes the loop.

        scf.for %i = %c0 to %c8 step %c1 { scf.for ... }
    becomes
        scf.for %i = %c0 to %c8 step %c1 { scf.for ... } {loop_annotation = <unroll = disable>}
    """

    name: ClassVar[str] = "keep-outer-loops"

    def run(self, module: Operation) -> None:
        outer: dict[Operation, None] = {}

        def visit(op: Operation) -> WalkResult:
            if op.name == "scf.for":
                around = op.parent
                while around is not None and around.name != "scf.for":
                    around = around.parent
                if around is not None:
                    outer[around] = None
            return WalkResult.ADVANCE

        module.walk(visit)
        with module.context:
            keep = Attribute.parse("#llvm.loop_annotation<unroll = <disable = true>>")
        for loop in outer:
            loop.attributes["loop_annotation"] = keep
