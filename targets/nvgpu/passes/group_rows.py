# SPDX-License-Identifier: Apache-2.0
"""group-rows: groups reductions along rows and elementwise operations on the rows in a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import FunctionView, functions
from xtc.ir.mlir import DenseI64ArrayAttr, Operation
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._marks import first_free_mark, mark, own_fill, separate
from xtc_targets.nvgpu.passes._rows.dependences import Dependences, gather
from xtc_targets.nvgpu.passes._rows.growth import RowGroup, grown
from xtc_targets.nvgpu.passes._rows.row_marks import ROWS


@dataclass(frozen=True)
class GroupRows(Pass):
    """Mark the operations that compute each row from the same row, and move them together.

    Before:
        %z = linalg.fill 0.0 ; %s = linalg.generic {["parallel", "reduction"]} ins(%x) outs(%z)
        %r = linalg.generic {["parallel", "parallel"]} ins(%x, %s)
    After:
        %z = linalg.fill {xtc.kernel = 0}
        %s = linalg.generic {xtc.kernel = 0, nvgpu.rows = [0, 1]} ins(%x) outs(%z)
        %r = linalg.generic {xtc.kernel = 0, nvgpu.rows = [0, 1]} ins(%x, %s)

    `nvgpu.rows` is the dimension of the rows that each loop runs over, or -1 for a single
    iteration. A group has reductions along all trailing dimensions of its rows, in any order of
    their elements, and elementwise operations before, between and after them. Operands may lack
    dimensions, such as a bias or a mask. At least two operations of a group access whole rows:
    otherwise nothing is read twice. A row must fit the registers of a block. Operations with a
    user's schedule, and those of other kernels, do not join.
    """

    name: ClassVar[str] = "group-rows"

    def run(self, module: Operation) -> None:
        with module.context:
            for view in functions(module):
                _group(view)


def _group(view: FunctionView) -> None:
    """Find all groups of a block, then mark them: changing an operation changes its hash."""
    if not any(nest.reductions for nest in view.nests.values()):
        return
    dependences = Dependences(view)
    found = [_Marked(group) for group in _groups(view, dependences)]
    order = list(view.ops)
    for number, group in enumerate(found, first_free_mark(view)):
        group.write(order, number)


def _groups(view: FunctionView, dependences: Dependences) -> Iterator[RowGroup]:
    taken: set[int] = set()
    for op, nest in view.nests.items():
        if nest.reductions and view.positions[op] not in taken:
            group = grown(view, dependences, nest, taken)
            if group is not None:
                taken |= group.positions
                dependences.join(group.positions)
                yield group


class _Marked:
    """What is marked for a group, which no longer depends on hashes."""

    def __init__(self, group: RowGroup) -> None:
        ops, after = group.view.ops, group.dependences.after
        positions = sorted(group.positions)
        depending = 0
        for position in positions:
            depending |= after[position]
        self._ops = [ops[position] for position in positions]
        self._after = {id(op) for number, op in enumerate(ops) if depending >> number & 1}
        self._members = [(ops[at], group.members[at]) for at in sorted(group.members)]
        self._fills = [(ops[at], fill) for at, fill in group.fills().items()]

    def write(self, order: list[Operation], number: int) -> None:
        """Move the operations together, and mark them; `order` is the block."""
        gather(order, self._ops, self._after)
        own = []
        for op, fill in self._fills:
            own.append(own_fill(op, number, fill))
        for op, loops in self._members:
            dims = [-1 if dim is None else dim for dim in loops]
            op.attributes[ROWS] = DenseI64ArrayAttr.get(dims)
            if not any(op is each for each, _ in self._fills):
                separate(op, number)
        mark([*own, *(op for op, _ in self._members)], number)
