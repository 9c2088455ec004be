# SPDX-License-Identifier: Apache-2.0
"""Chooses which operations the host computes together, and how many rows at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.structured import (
    FEW_ROWS,
    SMALL_BYTES,
    Structured,
    element_bits,
    even_part,
    is_used,
    shape_of,
)
from xtc_passes.tensor._fusion_planner import FusionLimits, FusionPlanner, Members
from xtc_passes.tensor._tile import Member, TileGroup

_TILE_WORK = 1024  # iterations of a tile below which the loop around it shows
_PARALLEL_WORK = 1 << 18  # iterations of all members together that are worth waking threads for
_MANY_PARTS = 32  # parallel tiles that share out well among threads
_FILL = "linalg.fill"


@dataclass(frozen=True)
class Limits(FusionLimits):
    """What limits tiles: see FuseRows."""

    rows: int
    bytes: int
    shared: int
    parallel: bool = False
    lanes: int = 1

    def depths(self, root: Structured) -> Sequence[int]:
        return range(1, len(root.out) + 1)

    def admits(self, members: Sequence[Member], weight: int, producer: Member) -> bool:
        """Whether the operands that all members' tiles read in whole stay in a cache."""
        return not weight or weight + _shared_bytes(producer) <= max(self.shared, weight)

    def weight(self, member: Member) -> int:
        """Bytes of operands that each tile reads in whole."""
        return _shared_bytes(member)

    def best(self, plans: Sequence[Members]) -> Members:
        """The group with as few tiled dimensions as its tiles allow.

        More are tiled where otherwise a member would cross many rows at once, unless that member
        could then no longer join.
        """
        fitting = [plan for plan in plans if _row_bytes(plan) <= self.bytes]
        if not fitting:
            root = plans[0][-1]
            return (Member(root.nest, root.nest.out[:1]),)
        crossing = {member.nest for member in fitting[0] if _crosses_many_rows(member)}
        good = (
            plan
            for plan in fitting
            if crossing <= {member.nest for member in plan}
            and not any(map(_crosses_many_rows, plan))
        )
        return next(good, fitting[0])

    def sizes(self, members: Members) -> tuple[int, ...]:
        """Rows of a tile in each tiled dimension; none where tiles gain nothing."""
        root = members[-1]
        extents = [root.nest.extents[loop] for loop in root.loops]
        work = max(math.prod(member.nest.extents) // _rows(member) for member in members)
        lanes = self.lanes if any(member.nest.crosses_rows for member in members) else 1
        rows = max(self.rows, lanes, -(-_TILE_WORK // work))
        bytes = self.bytes
        if any(member.nest.runs_along_rows for member in members):
            # Rows are swept over and over, and stay in the first-level cache meanwhile.
            bytes = min(bytes, SMALL_BYTES)
        most = min(rows, extents[-1], max(1, bytes // _row_bytes(members)))
        if math.prod(extents) == most or not _gains(members):
            return ()
        return (*(1 for _ in extents[:-1]), even_part(extents[-1], most))


def row_groups(view: FunctionView, limits: Limits) -> list[TileGroup]:
    """Groups that share no operation, the last one of the function first.

    Those without tile sizes are small enough to be left in one piece.
    """
    planner = FusionPlanner(view, limits)
    found = []
    for root in planner.roots():
        if not root.out or root.op in planner.taken or root.op.name == _FILL:
            continue
        members = planner.members(root)
        parallel = limits.parallel and _is_large(members)
        sizes = limits.sizes(members)
        if len(members) == 1 and not _gains_alone(members[0]):
            if not parallel:
                continue
            members, sizes = _parts(root)
        planner.take(members)
        found.append(TileGroup(view, members, sizes, parallel=parallel))
    return found


def _is_large(members: Members) -> bool:
    return sum(math.prod(member.nest.extents) for member in members) >= _PARALLEL_WORK


def _parts(root: Structured) -> tuple[Members, tuple[int, ...]]:
    """An operation on its own and the sizes of its parts for threads; none where it is one."""
    depth, rows = 1, root.extents[root.out[0]]
    while rows < _MANY_PARTS and depth < len(root.out):
        rows *= root.extents[root.out[depth]]
        depth += 1
    loops = root.out[:depth]
    last = root.extents[loops[-1]]
    most = -(-last // -(-_MANY_PARTS * last // rows))
    sizes = (*(1 for _ in loops[1:]), even_part(last, most))
    return (Member(root, loops),), sizes if rows > 1 else ()


def _gains(members: Members) -> bool:
    """True where tiles are faster.

    A member gains alone, or what is between two members, or what several read, is large.
    """
    if any(map(_gains_alone, members)):
        return True
    inner = [member.nest for member in members[:-1] if member.nest.op.name != _FILL]
    return any(_bytes(nest) > SMALL_BYTES for nest in inner) or _reread_bytes(members) > SMALL_BYTES


def _reread_bytes(members: Members) -> int:
    """Bytes of the largest operand of which several members read the rows of a tile."""
    readers = Counter(
        nest.op.operands[number]
        for nest, loops in ((member.nest, member.loops) for member in members)
        for number in range(nest.destination)
        if nest.uses_loop(number, loops[-1])
    )
    shared = [value for value, count in readers.items() if count > 1]
    return max((math.prod(shape_of(v)) * element_bits(v) // 8 for v in shared), default=0)


def _gains_alone(member: Member) -> bool:
    """True for a reduction that reads an operand anew for every row, or that sums along rows."""
    return member.nest.crosses_rows or _shared_bytes(member) > 0


def _shared_bytes(member: Member) -> int:
    """Bytes of a reduction's operands that each of its tiles reads in whole, as of weights."""
    nest = member.nest
    if not nest.reductions:
        return 0
    return sum(
        nest.touched_bytes(number, member.loops)
        for number in range(nest.destination)
        if not nest.uses_loop(number, member.loops[-1]) and is_used(nest.body.arguments[number])
    )


def _crosses_many_rows(member: Member) -> bool:
    """True for a sum along rows whose last parallel loop is long, and not tiled."""
    nest = member.nest
    loop = nest.last_parallel_loop
    if loop is None or not nest.crosses_rows:
        return False
    return nest.extents[loop] > FEW_ROWS and loop not in member.loops


def _row_bytes(members: Members) -> int:
    """Bytes of one row of the largest result between members; of the root's where it is alone."""
    return max(_bytes(member.nest) // _rows(member) for member in members[:-1] or members)


def _rows(member: Member) -> int:
    return math.prod(member.nest.extents[loop] for loop in member.loops)


def _bytes(nest: Structured) -> int:
    """Bytes of the result of `nest`."""
    return math.prod(shape_of(nest.result)) * element_bits(nest.result) // 8
