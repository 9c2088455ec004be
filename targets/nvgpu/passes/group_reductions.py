# SPDX-License-Identifier: Apache-2.0
"""group-reductions: groups a reduction, its initial value and its epilogue in a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import FunctionView, functions
from xtc.ir.mlir import Operation, UnitAttr
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._epilogue import only_reader
from xtc_targets.nvgpu.passes._marks import (
    REDUCTION,
    first_free_mark,
    mark,
    own_fill,
    separate,
)
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
                groups = _groups(view)
                for number, group in enumerate(groups, first_free_mark(view)):
                    group.mark(number)


@dataclass(frozen=True, eq=False)
class _Group:
    """A reduction, the fill of its destination, and its epilogue."""

    op: Operation
    fill: Operation
    epilogue: Operation | None

    def mark(self, number: int) -> None:
        """Mark the group's operations, and move them next to each other."""
        members = [self.op]
        if self.epilogue is not None:
            separate(self.epilogue, number)
            self.op.move_before(self.epilogue)
            members.append(self.epilogue)
        mark([own_fill(self.op, number, self.fill), *members], number)
        for op in members:
            op.attributes[REDUCTION] = UnitAttr.get()


def _groups(view: FunctionView) -> list[_Group]:
    """All groups, found before marking, since changing an operation changes its hash."""
    groups: list[_Group] = []
    taken: set[Operation] = set()
    for nest in (*view.nests.values(), *view.indexed.values()):
        fill = view.producers.get(nest.op.operands[nest.destination])
        if fill is None or fill.name != "linalg.fill" or not nest.reductions:
            continue
        if reduction_of(nest) is not None:
            reader = only_reader(view, nest, permuted=True)
            epilogue = None if reader is None or reader.op in taken else reader.op
            if epilogue is not None:
                taken.add(epilogue)
            groups.append(_Group(nest.op, fill, epilogue))
    return groups
