# SPDX-License-Identifier: Apache-2.0
"""fuse-rows: an operation and what leads to it alone are computed together, a few rows at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from xtc.core.mlir import Operation, Value
from xtc.core.passes import Pass
from xtc_passes._function_view import FunctionView, functions
from xtc_passes._structured import Structured, element_bits, even_part, is_used, shape_of
from xtc_passes._tile import Member, TileGroup

_SMALL_BYTES = 16384  # half of a first-level data cache, of 32 KiB at least
_TILE_WORK = 1024  # iterations that make the cost of a loop around them small


@dataclass(frozen=True)
class FuseRows(Pass):
    """Tile the leading dimensions of a result and fuse the operations that lead to it.

    An operation joins when only members read it, when they read it along each tiled dimension with
    the tile loop itself (so every iteration needs rows of its own and nothing is computed twice),
    when it runs on the same device, and has no schedule of the user's. What was a whole tensor
    between them shrinks to a tile, or vanishes where the next one can overwrite it. A single
    operation is tiled where every row reads the same operand again, as in a matmul.

        %m = linalg.matmul ins(%a, %b) ...
        %r = linalg.generic ins(%m) { arith.maximumf }
    becomes
        %r = scf.for %i = 0 to 512 step 8 { linalg.matmul on 8 rows; linalg.generic on 8 rows }

    Attributes:
        rows: rows of a tile at most.
        bytes: size of a tile between two members at most; where one row is larger, the next
            dimension is tiled as well.
    """

    name: ClassVar[str] = "fuse-rows"
    rows: int = 8
    bytes: int = 65536

    def run(self, module: Operation) -> None:
        with module.context:
            for view in functions(module):
                for group in _Planner(view, self).groups():
                    overwrite_inputs(view, group.members)
                    if group.sizes:
                        group.rewrite()


@dataclass
class _Planner:
    """Finds the groups of one function, from its end to its beginning."""

    view: FunctionView
    options: FuseRows
    taken: set[Operation] = field(default_factory=set)

    def groups(self) -> list[TileGroup]:
        """Groups that share no operation; those without tile sizes are small enough as they are."""
        found = []
        for op in reversed(self.view.ops):
            root = self.view.nests.get(op)
            if root is None or op in self.taken or op.name == "linalg.fill":
                continue
            group = self._group(root)
            if group is not None:
                self.taken |= {member.nest.op for member in group.members}
                found.append(group)
        return found

    def _group(self, root: Structured) -> TileGroup | None:
        for depth in range(1, len(root.out) + 1):
            members = self._members(root, depth)
            if _row_bytes(members) <= self.options.bytes:
                break
        else:
            return None
        if not any(map(_reads_rows_again, members)):
            if sum(member.nest.op.name != "linalg.fill" for member in members) < 2:
                return None
            if max(_bytes(member.nest) for member in members[:-1]) <= _SMALL_BYTES:
                return TileGroup(self.view, members, ())
        return TileGroup(self.view, members, self._sizes(members))

    def _members(self, root: Structured, depth: int) -> tuple[Member, ...]:
        """The root and what can be computed with it where `depth` dimensions are tiled."""
        loops = {root.op: root.out[:depth]}
        pending = [root]
        while pending:
            for value in pending.pop().op.operands:
                nest = self.view.nest_of(value)
                if nest is None or nest.op in loops or nest.op in self.taken:
                    continue
                own = self._loops(nest, loops) if nest.device == root.device else None
                if own is not None:
                    loops[nest.op] = own
                    pending.append(nest)
        ordered = sorted(loops, key=self.view.positions.__getitem__)
        return tuple(Member(self.view.nests[op], loops[op]) for op in ordered)

    def _loops(
        self, nest: Structured, loops: dict[Operation, tuple[int, ...]]
    ) -> tuple[int, ...] | None:
        """The loops of `nest` over the tiled dimensions, where members alone read its result."""
        places = set()
        for op, number in self.view.uses[nest.result]:
            if op not in loops:
                return None
            reader = self.view.nests[op]
            places.add(tuple(reader.position(number, loop) for loop in loops[op]))
        place = places.pop()
        if places or None in place:
            return None
        return tuple(nest.out[dimension] for dimension in place if dimension is not None)

    def _sizes(self, members: tuple[Member, ...]) -> tuple[int, ...]:
        """Rows of a tile in each tiled dimension; none where one tile is the whole."""
        root = members[-1]
        extents = [root.nest.extents[loop] for loop in root.loops]
        work = max(_row_work(member) for member in members)
        rows = max(self.options.rows, -(-_TILE_WORK // work))
        most = min(rows, extents[-1], max(1, self.options.bytes // _row_bytes(members)))
        if math.prod(extents) == most:
            return ()
        return (*(1 for _ in extents[:-1]), even_part(extents[-1], most))


def _row_work(member: Member) -> int:
    """Iterations of the member's loops for one row."""
    return math.prod(member.nest.extents) // _rows(member)


def _row_bytes(members: tuple[Member, ...]) -> int:
    """Bytes of one row of the largest result between members; of the root's where it is alone."""
    return max(_bytes(one.nest) // _rows(one) for one in members[:-1] or members)


def _rows(member: Member) -> int:
    return math.prod(member.nest.extents[loop] for loop in member.loops)


def _bytes(nest: Structured) -> int:
    """Bytes of the result of `nest`."""
    return math.prod(shape_of(nest.result)) * element_bits(nest.result) // 8


def _reads_rows_again(member: Member) -> bool:
    """True for a sum of products that needs all of an operand for every row."""
    nest = member.nest
    return bool(nest.reductions) and any(
        bool(nest.indices[number])
        and not nest.uses_loop(number, member.loops[-1])
        and is_used(nest.body.arguments[number])
        for number in range(nest.destination)
    )


def overwrite_inputs(view: FunctionView, members: tuple[Member, ...]) -> None:
    """Let an elementwise member write over an input that no one reads any more."""
    made = {member.nest.result for member in members}
    for member in members:
        nest = member.nest
        if nest.reductions or nest.op.name != "linalg.generic" or nest.reads_destination:
            continue
        destination = nest.op.operands[nest.destination]
        if not view.is_made_by(destination, "tensor.empty"):
            continue
        for value in list(nest.op.operands)[: nest.destination]:
            if value in made and value.type == destination.type and _dies_in(view, value, nest):
                nest.op.operands[nest.destination] = value
                break


def _dies_in(view: FunctionView, value: Value, nest: Structured) -> bool:
    """True where `nest` is the last to read the value, and reads it where it writes its result."""
    at = view.positions[nest.op]
    return all(
        view.positions.get(op, at + 1) < at
        or (op == nest.op and nest.indices[number] == nest.indices[nest.destination])
        for op, number in view.uses[value]
    )
