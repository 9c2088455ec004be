# SPDX-License-Identifier: Apache-2.0
"""Which operations of a block depend on which, and how a group of them becomes contiguous."""

from __future__ import annotations

from collections.abc import Iterable

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.attributes import KERNEL
from xtc.ir.mlir import Operation


class Dependences:
    """The dependences of a block's operations; sets of positions are bits of integers.

    Attributes:
        before: for each operation, those that it depends on, directly or indirectly.
        after: for each operation, those that depend on it.
    """

    def __init__(self, view: FunctionView) -> None:
        self._view = view
        self.direct = self._direct()
        self.before = [0] * len(self.direct)
        self.after = [0] * len(self.direct)
        for position, producers in enumerate(self.direct):
            for number in producers:
                self.before[position] |= self.before[number] | 1 << number
        for position in reversed(range(len(self.direct))):
            for number in self.direct[position]:
                self.after[number] |= self.after[position] | 1 << position
        kernels: dict[str, list[int]] = {}
        for position, op in enumerate(view.ops):
            if KERNEL in op.attributes:
                kernels.setdefault(str(op.attributes[KERNEL]), []).append(position)
        for members in kernels.values():
            self.join(members)

    def join(self, members: Iterable[int]) -> None:
        """Run operations together: their dependents wait for all of them."""
        before = after = 0
        for position in members:
            before |= self.before[position] | 1 << position
            after |= self.after[position] | 1 << position
        for position in range(len(self.before)):
            if before >> position & 1:
                self.after[position] |= after
            if after >> position & 1:
                self.before[position] |= before

    def _direct(self) -> list[list[int]]:
        """The positions of each operation's producers."""
        found: list[set[int]] = [set() for _ in self._view.ops]
        for value, uses in self._view.uses.items():
            producer = self._view.producers.get(value)
            if producer is None:
                continue
            for op, _ in uses:
                user = self.position_of(op)
                if user is not None:
                    found[user].add(self._view.positions[producer])
        return [sorted(producers) for producers in found]

    def position_of(self, op: Operation) -> int | None:
        """The position of an operation, or of the operation of the block that contains it."""
        inner: Operation | None = op
        while inner is not None:
            if (position := self._view.positions.get(inner)) is not None:
                return position
            inner = inner.parent
        return None

    def are_convex(self, members: Iterable[int]) -> bool:
        """Whether no other operation depends on a member while a member depends on it."""
        own = before = after = 0
        for position in members:
            own |= 1 << position
            before |= self.before[position]
            after |= self.after[position]
        return not before & after & ~own


def gather(order: list[Operation], members: list[Operation], after: set[int]) -> None:
    """Move the members next to the last one, and their dependents behind it.

    `order` is the block, which is updated; `after` are the identities of the operations that
    depend on a member.
    """
    places = {id(op): number for number, op in enumerate(order)}
    numbers = sorted(places[id(op)] for op in members)
    own = set(numbers)
    first, last = numbers[0], numbers[-1]
    anchor = order[last]
    late = [order[n] for n in range(first, last) if n not in own and id(order[n]) in after]
    early = [order[n] for n in range(first, last) if n not in own and id(order[n]) not in after]
    inside = [order[n] for n in numbers]
    for op in inside[:-1]:
        op.move_before(anchor)
    behind = anchor
    for op in late:
        op.move_after(behind)
        behind = op
    order[first : last + 1] = [*early, *inside, *late]
