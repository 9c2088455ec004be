# SPDX-License-Identifier: Apache-2.0
"""Chooses groups of operations to fuse, tile by tile of the last operation's result.

The planner walks from a root operation to its producers, and to theirs. A producer can join the
group if only members read its result, and each member indexes every tiled dimension by the loop of
that dimension: each iteration then needs a distinct part, and nothing is computed twice. A target
gives its limits: what it gains by fusion, and the sizes of its memories.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Operation
from xtc_passes.tensor._tile import Member

Members = tuple[Member, ...]
"""The operations of a group, in order; the last one is the root."""


class FusionLimits(ABC):
    """A target's rules: the operations that may join a group, and the preferred tiling."""

    @abstractmethod
    def depths(self, root: Structured) -> Sequence[int]:
        """The numbers of tiled dimensions of the root's result to try, in order."""

    @abstractmethod
    def admits(self, members: Sequence[Member], weight: int, producer: Member) -> bool:
        """Whether a producer may join these members, whose weights add up to `weight`."""

    def weight(self, member: Member) -> int:
        """The weight of a member; the weight of a group is the total of its members."""
        return 0

    @abstractmethod
    def best(self, plans: Sequence[Members]) -> Members:
        """The group to take, among those for the tried numbers of dimensions."""


@dataclass
class FusionPlanner:
    """Divides the operations of a function into disjoint groups.

    Attributes:
        view: the function.
        limits: the rules of the target.
        taken: operations that belong to a group already.
    """

    view: FunctionView
    limits: FusionLimits
    taken: set[Operation] = field(default_factory=set)

    def roots(self) -> Sequence[Structured]:
        """The possible roots of groups, the last operation of the function first."""
        nests = (self.view.nests.get(op) for op in reversed(self.view.ops))
        return [nest for nest in nests if nest is not None]

    def members(self, root: Structured) -> Members:
        """The group whose root is `root`."""
        depths = self.limits.depths(root)
        return self.limits.best([self.reached(root, root.out[:depth]) for depth in depths])

    def take(self, members: Members) -> None:
        """Exclude these operations from later groups."""
        self.taken |= {member.nest.op for member in members}

    def reached(self, root: Structured, loops: tuple[int, ...]) -> Members:
        """The root and all operations that can be fused with it if these of its loops are tiled."""
        found = {root.op: Member(root, loops)}
        pending, members = [root], [found[root.op]]
        weight = self.limits.weight(members[0])
        while pending:
            for value in pending.pop().op.operands:
                nest = self.view.nest_of(value)
                if nest is None or nest.op in found or nest.op in self.taken:
                    continue
                along = self._loops(nest, found) if nest.device == root.device else None
                if along is None:
                    continue
                producer = Member(nest, along)
                if self.limits.admits(members, weight, producer):
                    found[nest.op] = producer
                    members.append(producer)
                    weight += self.limits.weight(producer)
                    pending.append(nest)
        return tuple(found[op] for op in sorted(found, key=self.view.positions.__getitem__))

    def _loops(self, nest: Structured, found: Mapping[Operation, Member]) -> tuple[int, ...] | None:
        """The loops of `nest` over the tiled dimensions, if only members read its result."""
        positions = set()
        for op, number in self.view.uses[nest.result]:
            if op not in found:
                return None
            reader = found[op]
            positions.add(tuple(reader.nest.position(number, loop) for loop in reader.loops))
        position = positions.pop()
        if positions or None in position:
            return None
        return tuple(nest.out[dimension] for dimension in position if dimension is not None)
