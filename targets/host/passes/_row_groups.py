# SPDX-License-Identifier: Apache-2.0
"""Chooses groups of operations to fuse along rows, and the number of rows per tile."""

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

_TILE_WORK = 1024  # iterations of a tile; in smaller tiles the loop overhead shows
_PARALLEL_WORK = 1 << 18  # iterations of all members from which on threads pay
_MANY_PARTS = 32  # parallel tiles that balance the load of threads
_FILL = "linalg.fill"


@dataclass(frozen=True)
class Limits(FusionLimits):
    """The limits of tiles: see FuseRows."""

    rows: int
    bytes: int
    shared: int
    parallel: bool = False
    lanes: int = 1

    def depths(self, root: Structured) -> Sequence[int]:
        return range(1, len(root.out) + 1)

    def admits(self, members: Sequence[Member], weight: int, producer: Member) -> bool:
        """Whether the operands that every tile reads in whole fit into a cache."""
        return not weight or weight + _shared_bytes(producer) <= max(self.shared, weight)

    def weight(self, member: Member) -> int:
        """Bytes of the operands that each tile reads in whole."""
        return _shared_bytes(member)

    def best(self, plans: Sequence[Members]) -> Members:
        """The group with the fewest tiled dimensions that its tile sizes allow.

        More dimensions are tiled if a member would otherwise reduce many rows at once, unless that
        member could then no longer join.
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
        """Rows of a tile in each tiled dimension; empty if tiles gain nothing."""
        root = members[-1]
        extents = [root.nest.extents[loop] for loop in root.loops]
        work = max(math.prod(member.nest.extents) // _rows(member) for member in members)
        lanes = self.lanes if any(member.nest.crosses_rows for member in members) else 1
        rows = max(self.rows, lanes, -(-_TILE_WORK // work))
        bytes = self.bytes
        if any(member.nest.runs_along_rows for member in members):
            # Each operation sweeps over the rows again, which stay in the first-level cache.
            bytes = min(bytes, SMALL_BYTES)
        most = min(rows, extents[-1], max(1, bytes // _row_bytes(members)))
        if math.prod(extents) == most or not _is_faster(members):
            return ()
        return (*(1 for _ in extents[:-1]), even_part(extents[-1], most))


def row_groups(view: FunctionView, limits: Limits) -> list[TileGroup]:
    """Disjoint groups, the last one of the function first.

    Groups without tile sizes are small enough to stay in one piece.
    """
    planner = FusionPlanner(view, limits)
    found = []
    for root in planner.roots():
        if not root.out or root.op in planner.taken or root.op.name == _FILL:
            continue
        members = planner.members(root)
        parallel = limits.parallel and _is_large(members)
        sizes = limits.sizes(members)
        if len(members) == 1 and not _is_faster_alone(members[0]):
            if not parallel:
                continue
            members, sizes = _parts(root)
        planner.take(members)
        found.append(TileGroup(view, members, sizes, parallel=parallel))
    return found


def _is_large(members: Members) -> bool:
    return sum(math.prod(member.nest.extents) for member in members) >= _PARALLEL_WORK


def _parts(root: Structured) -> tuple[Members, tuple[int, ...]]:
    """A single operation and the sizes of its parts for threads; no sizes for a single part."""
    depth, rows = 1, root.extents[root.out[0]]
    while rows < _MANY_PARTS and depth < len(root.out):
        rows *= root.extents[root.out[depth]]
        depth += 1
    loops = root.out[:depth]
    last = root.extents[loops[-1]]
    most = -(-last // -(-_MANY_PARTS * last // rows))
    sizes = (*(1 for _ in loops[1:]), even_part(last, most))
    return (Member(root, loops),), sizes if rows > 1 else ()


def _is_faster(members: Members) -> bool:
    """Whether tiles are faster.

    They are if a member gains by itself, or if an intermediate result or a shared operand is large.
    """
    if any(map(_is_faster_alone, members)):
        return True
    inner = [member.nest for member in members[:-1] if member.nest.op.name != _FILL]
    return any(_bytes(nest) > SMALL_BYTES for nest in inner) or _reread_bytes(members) > SMALL_BYTES


def _reread_bytes(members: Members) -> int:
    """Bytes of the largest operand whose tile rows several members read."""
    readers = Counter(
        nest.op.operands[number]
        for nest, loops in ((member.nest, member.loops) for member in members)
        for number in range(nest.destination)
        if nest.uses_loop(number, loops[-1])
    )
    shared = [value for value, count in readers.items() if count > 1]
    return max((math.prod(shape_of(v)) * element_bits(v) // 8 for v in shared), default=0)


def _is_faster_alone(member: Member) -> bool:
    """Whether it is a reduction along rows, or one that rereads an operand for every row."""
    return member.nest.crosses_rows or _shared_bytes(member) > 0


def _shared_bytes(member: Member) -> int:
    """Bytes of a reduction's operands, such as weights, that each tile reads in whole."""
    nest = member.nest
    if not nest.reductions:
        return 0
    return sum(
        nest.touched_bytes(number, member.loops)
        for number in range(nest.destination)
        if not nest.uses_loop(number, member.loops[-1]) and is_used(nest.body.arguments[number])
    )


def _crosses_many_rows(member: Member) -> bool:
    """Whether it is a reduction along rows whose last parallel loop is long and not tiled."""
    nest = member.nest
    loop = nest.last_parallel_loop
    if loop is None or not nest.crosses_rows:
        return False
    return nest.extents[loop] > FEW_ROWS and loop not in member.loops


def _row_bytes(members: Members) -> int:
    """Bytes of a row of the largest intermediate result, or of the root's result if it is alone."""
    return max(_bytes(member.nest) // _rows(member) for member in members[:-1] or members)


def _rows(member: Member) -> int:
    return math.prod(member.nest.extents[loop] for loop in member.loops)


def _bytes(nest: Structured) -> int:
    """Bytes of the result of `nest`."""
    return math.prod(shape_of(nest.result)) * element_bits(nest.result) // 8
