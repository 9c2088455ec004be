# SPDX-License-Identifier: Apache-2.0
"""keep-outer-loops: LLVM must not unroll loops that contain loops, nor copies of a loop."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import LOOP_PATH
from xtc.ir.mlir import Attribute, Operation, all_operations
from xtc.ir.passes import Pass

_MANY_COPIES = 16  # loops side by side, of more of which LLVM makes none longer


@dataclass(frozen=True)
class KeepOuterLoops(Pass):
    """Forbid LLVM to unroll a loop that contains another loop, unless a user's schedule made it.

    LLVM unrolls loops of few iterations before it vectorizes: a loop over eight rows becomes eight
    copies of its body, each vectorized anew. This takes most of the compile time and gains nothing.
    `convert-scf-to-cf` hands the attribute on to the branch that closes the loop.

    The same holds for loops that a schedule has copied many times by unrolling the loops around
    them: unrolled once more, they form a single block, and LLVM's time grows with the square of its
    length.

    Before:
        scf.for %i = %c0 to %c8 step %c1 { scf.for ... }
    After:
        scf.for %i = %c0 to %c8 step %c1 { scf.for ... } {loop_annotation = <unroll = disable>}
    """

    name: ClassVar[str] = "keep-outer-loops"

    def run(self, module: Operation) -> None:
        loops = [op for op in all_operations(module) if op.name == "scf.for"]
        outer = {around for loop in loops if (around := _loop_around(loop)) is not None}
        copies = Counter(loop.block for loop in loops)
        with module.context:
            keep = Attribute.parse("#llvm.loop_annotation<unroll = <disable = true>>")
        for loop in loops:
            is_given = any(name.startswith(LOOP_PATH) for name in loop.attributes)
            if (loop in outer and not is_given) or copies[loop.block] > _MANY_COPIES:
                loop.attributes["loop_annotation"] = keep


def _loop_around(loop: Operation) -> Operation | None:
    around = loop.parent
    while around is not None and around.name != "scf.for":
        around = around.parent
    return around
