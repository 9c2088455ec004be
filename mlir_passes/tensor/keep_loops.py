# SPDX-License-Identifier: Apache-2.0
"""keep-loops: forbids LLVM to unroll loops that it should vectorize or keep short."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.loop_nesting import outer_loops
from xtc.ir.attributes import LOOP_PATH
from xtc.ir.builders.numbers import known_trips
from xtc.ir.mlir import Attribute, Operation, all_operations
from xtc.ir.passes import Pass

_MANY_COPIES = 16  # adjacent copies of a loop; if there are more, LLVM must not unroll them
_FEW_ITERATIONS = 8  # a loop of at most this many is as fast unrolled: it is one vector or less
_MANY_OPERATIONS = (
    512  # in all iterations; LLVM does not unroll larger loops (its limit is 300 instructions)
)


@dataclass(frozen=True)
class KeepLoops(Pass):
    """Forbid LLVM to unroll three kinds of loops.

    - A loop that contains another loop, unless a user's schedule made it. LLVM unrolls loops of few
      iterations before it vectorizes: a loop over eight rows becomes eight copies of its body, each
      vectorized anew. This takes most of the compile time and gains nothing.
    - A loop that writes consecutive elements, as one over 24 channels, if no schedule made it, it
      has more than eight iterations, and it is so short that LLVM would unroll it. Unrolled, it is
      24 single elements, and LLVM vectorizes the loop around it, whose elements are strided. LLVM
      keeps longer loops anyway, and may interleave several of their vectors.
    - One of many copies of a loop, which a schedule makes by unrolling the loops around it.
      Unrolled as well, they would form a single block, and LLVM's time grows with the square of its
      length.

    `convert-scf-to-cf` passes the attribute on to the branch that closes the loop.

    Before:
        scf.for %i = %c0 to %c8 step %c1 { scf.for ... }
    After:
        scf.for %i = %c0 to %c8 step %c1 { scf.for ... } {loop_annotation = <unroll = disable>}
    """

    name: ClassVar[str] = "keep-loops"

    def run(self, module: Operation) -> None:
        loops = [op for op in all_operations(module) if op.name == "scf.for"]
        outer = outer_loops(loops)
        copies = Counter(loop.block for loop in loops)
        with module.context:
            keep = Attribute.parse("#llvm.loop_annotation<unroll = <disable = true>>")
        for loop in loops:
            is_given = any(name.startswith(LOOP_PATH) for name in loop.attributes)
            is_kept = not is_given and (loop in outer or _writes_neighbors(loop))
            if is_kept or copies[loop.block] > _MANY_COPIES:
                loop.attributes["loop_annotation"] = keep


def _writes_neighbors(loop: Operation) -> bool:
    """Whether LLVM would unroll the loop, and its iterations write consecutive elements."""
    body = loop.regions[0].blocks[0]
    counter, trips = body.arguments[0], known_trips(loop) or 0
    is_unrolled = _FEW_ITERATIONS < trips <= _MANY_OPERATIONS // len(body.operations)
    return is_unrolled and any(
        op.name == "memref.store" and op.operands[len(op.operands) - 1] == counter
        for op in body.operations
    )
