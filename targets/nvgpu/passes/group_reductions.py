# SPDX-License-Identifier: Apache-2.0
"""group-reductions: groups a reduction, its initial value and its epilogue in a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import FunctionView, functions
from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Operation, UnitAttr
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._accumulations import accumulations
from xtc_targets.nvgpu.passes._marks import REDUCTION, first_free_mark
from xtc_targets.nvgpu.passes._thread_reductions import reduction_of


@dataclass(frozen=True)
class GroupReductions(Pass):
    """Mark the operations of a reduction's kernel, and move them next to each other.

    Before:
        %z = linalg.fill 0.0 ; %s = linalg.generic {["parallel", "reduction"]} ins(%x) outs(%z)
        %r = linalg.generic {["parallel"]} ins(%s, %b)
    After:
        %z = linalg.fill {xtc.kernel = 0}
        %s = linalg.generic {nvgpu.reduction, xtc.kernel = 0} ins(%x) outs(%z)
        %r = linalg.generic {nvgpu.reduction, xtc.kernel = 0} ins(%s, %b)

    The kernel begins with the value in a register, and does not read its result. An elementwise
    operation joins, as the epilogue, if it is the only consumer of the reduction and computes each
    element from the same element of it; it may permute dimensions. Reductions with a user's
    schedule, and those of other kernels, stay as they are.
    """

    name: ClassVar[str] = "group-reductions"

    def run(self, module: Operation) -> None:
        with module.context:
            for view in functions(module):
                found = accumulations(view, _filled(view), permuted=True)
                for number, group in enumerate(found, first_free_mark(view)):
                    for op in group.mark(number):
                        op.attributes[REDUCTION] = UnitAttr.get()


def _filled(view: FunctionView) -> Iterator[tuple[Structured, Operation]]:
    """The reductions whose destination a fill begins, with the fill."""
    for nest in (*view.nests.values(), *view.indexed.values()):
        fill = view.producers.get(nest.op.operands[nest.destination])
        if fill is None or fill.name != "linalg.fill" or not nest.reductions:
            continue
        if reduction_of(nest) is not None:
            yield nest, fill
