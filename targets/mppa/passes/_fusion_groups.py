# SPDX-License-Identifier: Apache-2.0
"""Chooses groups of operations to compute tile by tile in one loop nest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xtc.ir.analysis.contractions import contraction
from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.structured import Structured, body_operations, is_shaped, shape_of
from xtc.ir.mlir import Operation, Value
from xtc_passes.tensor._fusion_planner import FusionLimits, FusionPlanner, Members
from xtc_passes.tensor._tile import Member

FILL = "linalg.fill"
Loops = tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """A group of operations that is computed in one loop nest.

    Attributes:
        view: the function before the rewriting.
        members: the operations, in order. Only later members read the result of a member; the last
            member, the root, has other readers. The tiled dimensions are the first ones of the
            root's result.
        window: the only reader of the root's result, if it inserts the result into a larger tensor.
    """

    view: FunctionView
    members: tuple[Member, ...]
    window: Operation | None = None

    @property
    def root(self) -> Structured:
        """The operation whose result leaves the nest."""
        return self.members[-1].nest

    @property
    def loops(self) -> Loops:
        """The root's loops over the tiled dimensions."""
        return self.members[-1].loops

    @property
    def extents(self) -> tuple[int, ...]:
        """Sizes of the tiled dimensions."""
        return tuple(self.root.extents[loop] for loop in self.loops)

    @cached_property
    def results(self) -> frozenset[Value]:
        """The results of the members."""
        return frozenset(member.nest.result for member in self.members)

    @property
    def is_copy(self) -> bool:
        """Whether the group only moves data."""
        root = self.root
        if len(self.members) > 1 or len(root.indices) != 2 or root.indices[0] != root.indices[1]:
            return False
        if not is_shaped(root.op.operands[0]):
            return False
        (end, *others) = body_operations(root.op)[::-1]
        return not others and end.operands[0] == root.body.arguments[0]

    def is_read(self, member: Member, number: int) -> bool:
        """Whether a member reads the contents of an operand from outside of the group."""
        nest = member.nest
        value = nest.op.operands[number]
        if value in self.results or self.view.is_produced_by(value, "tensor.empty"):
            return False
        return nest.reads_destination if number == nest.destination else True

    def singles(self) -> list[Group]:
        """The same operations, each in a separate group."""
        alone = [Group(self.view, (Member(m.nest, m.nest.out),)) for m in self.members[:-1]]
        return [*alone, Group(self.view, (Member(self.root, self.root.out),), self.window)]


def groups(view: FunctionView) -> list[Group]:
    """Disjoint groups of all operations that can be tiled, in the function's order."""
    planner = FusionPlanner(view, LargestGroups())
    found = []
    for root in planner.roots():
        if root.op not in planner.taken:
            members = planner.members(root)
            planner.take(members)
            found.append(Group(view, members, _window(view, root)))
    return found[::-1]


class LargestGroups(FusionLimits):
    """The largest group of a root, and among equals the one with the most tiled dimensions.

    At most one member is a contraction, and only if all dimensions of its result are tiled: the
    tiles of its operands are then the smallest.
    """

    def depths(self, root: Structured) -> Sequence[int]:
        if not root.out:
            return (0,)
        depths = range(len(root.out), 0, -1)
        return depths[:1] if is_contraction(root) else depths

    def admits(self, members: Sequence[Member], weight: int, producer: Member) -> bool:
        if not is_contraction(producer.nest):
            return True
        is_whole = set(producer.loops) == set(producer.nest.out)
        return is_whole and not any(is_contraction(member.nest) for member in members)

    def best(self, plans: Sequence[Members]) -> Members:
        return max(plans, key=len)


def is_contraction(nest: Structured) -> bool:
    """Whether the operation is a contraction that reads an operand for several results."""
    found = contraction(nest)
    return found is not None and any(
        nest.extents[loop] > 1 for loop in (*found.roles.m, *found.roles.n)
    )


def _window(view: FunctionView, root: Structured) -> Operation | None:
    """The insertion that is the only reader of the root's result, or None."""
    uses = view.uses.get(root.result, [])
    if len(uses) != 1 or uses[0][1] != 0:
        return None
    (op, _) = uses[0]
    return op if op in view.positions and is_plain_insertion(op) else None


def is_plain_insertion(op: Operation) -> bool:
    """Whether it is an insertion of a tensor of the same rank at constant offsets with step 1."""
    if op.name != "tensor.insert_slice" or len(op.operands) != 2:
        return False
    if any(stride != 1 for stride in op.attributes["static_strides"]):
        return False
    return len(shape_of(op.operands[0])) == len(shape_of(op.operands[1]))
