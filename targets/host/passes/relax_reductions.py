# SPDX-License-Identifier: Apache-2.0
"""relax-reductions: allows any order in long contiguous reductions of floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import unscheduled_reductions
from xtc.ir.analysis.structured import (
    FLOAT_ADDITIONS,
    FLOAT_EXTREMES,
    Structured,
    combining_operation,
)
from xtc.ir.fast_math import allow
from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass

_SHORT_ROW = 32  # contiguous elements; LLVM does not vectorize shorter rows


@dataclass(frozen=True)
class RelaxReductions(Pass):
    """Allow LLVM several vectors of partial results in contiguous reductions.

    In order, a sum is one chain of additions, each of which waits for the previous one. Short
    reductions are left to `transpose-row-reductions`, which keeps their order. The order does
    not depend on data. LLVM chooses it for each loop from the processor and the loop's body, so
    that the same sum may differ in its last bits once it is fused or tiled. The maximum or
    minimum of zeros may have either sign, and NaN stays NaN. A reduction with a
    schedule stays as it is.

    Before:
        linalg.generic ins(%a : tensor<4096xf32>) outs(%s : tensor<f32>) { arith.addf %s, %a }
    After:
        linalg.generic ... { arith.addf %s, %a fastmath<reassoc> }

    Attributes:
        extent: least extent of a reduction with a free order.
    """

    name: ClassVar[str] = "relax-reductions"
    extent: int = 128

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        for nest in unscheduled_reductions(module):
            op = combining_operation(nest.op)
            inner = _innermost(nest)
            if op is not None and inner is not None:
                _relax(op, nest, inner, self.extent)


def _innermost(nest: Structured) -> int | None:
    """The innermost loop if it is a contiguous reduction, or None."""
    long = [loop for loop in nest.reductions if nest.extents[loop] > 1]
    if not long or not nest.runs_along_rows:
        return None
    used = [number for number in range(len(nest.indices)) if nest.uses_loop(number, long[-1])]
    return long[-1] if all(nest.is_contiguous(number, long[-1]) for number in used) else None


def _relax(op: Operation, nest: Structured, inner: int, extent: int) -> None:
    """Allow any order for the combining operation of a reduction, if that pays."""
    if nest.body.arguments[nest.destination] not in list(op.operands):
        return
    if op.name in FLOAT_EXTREMES:
        allow(op, "nsz")
        _put_total_last(op, nest)
    total = math.prod(nest.extents[loop] for loop in nest.reductions)
    many = total >= extent and nest.extents[inner] >= _SHORT_ROW
    if many and op.name in (*FLOAT_ADDITIONS, *FLOAT_EXTREMES):
        allow(op, "reassoc")


def _put_total_last(op: Operation, nest: Structured) -> None:
    """Make the accumulator the second operand.

    The maximum instruction of x86 returns its second operand if either is NaN. A NaN in the
    accumulator then stays, and only new elements must be tested, outside of the chain.
    """
    first, second = op.operands
    if first == nest.body.arguments[nest.destination]:
        op.operands[0], op.operands[1] = second, first
