# SPDX-License-Identifier: Apache-2.0
"""fuse-epilogues: what is done to each element of a scheduled result is done in its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.loops import Nest, NestLoop, nest_data
from xtc.core.mlir import ArrayAttr, Operation, StringAttr, UnitAttr
from xtc.core.passes import Pass
from xtc_passes import _linalg as linalg
from xtc_passes._function_view import FunctionView, functions
from xtc_passes._overwrite import overwrite_inputs, read_destination
from xtc_passes._peel import inside, leading
from xtc_passes._scheduled import Scheduled, fused_nodes
from xtc_passes._structured import (
    LOOP_NAMES,
    LOOP_PATH,
    SCHEDULE_MARK,
    Structured,
    body_operations,
    element_bits,
    structured,
)
from xtc_passes._tile import Member, TileGroup
from xtc_passes._tile_buffers import give_buffers
from xtc_passes.apply_schedules import NODE, ApplySchedules

_AROUND = "xtc.around."  # how the attribute begins that finds what is before and after a sum again
_LANES = 64  # of a vector of an epilogue: four registers, or more, of any machine
_ROWS = 16  # of a register tile, which stays in registers where all of it is written out


@dataclass(frozen=True)
class FuseEpilogues(Pass):
    """Move an elementwise operation into the outermost loops of what it reads.

    The schedule begins with loops over axes of the result; one iteration leaves a part that no
    other changes, so that bias, activation or rounding follow while it is in a cache. What is left
    of the schedule stays with the operation. The only reader must be elementwise, run on the same
    device, and have no schedule of its own.

    Before:
        %m = linalg.matmul {loop.schedule = ["i", "j", "k", "i#4=unroll"]} ins(%a, %b) outs(%zero)
        %r = linalg.generic ins(%m) { arith.maximumf }
    After:
        %r = scf.for %i = 0 to 512 step 4 {
          linalg.matmul {loop.schedule = ["j", "k", "i=unroll"]} on 4 rows
          linalg.generic on 4 rows } {"./i"}
    """

    name: ClassVar[str] = "fuse-epilogues"

    def run(self, module: Operation) -> None:
        found = ApplySchedules().nests(module)
        kept = fused_nodes(module)
        with module.context:
            for view in functions(module):
                groups = [_group(view, one, kept) for one in found]
                roots = [None if group is None else group.root for group in groups]
                # The last first: what is behind an operation that moves reads something else then.
                for number, group in reversed(list(enumerate(groups))):
                    # A reader of two results moves to the second of them.
                    if group is not None and group.root not in roots[number + 1 :]:
                        overwrite_inputs(view, group.members)
                        _mark(group, f"{_AROUND}{number}")
                        group.rewrite()
                        _reschedule(module, f"{NODE}{number}", found[number].nest)
                        _vectorize(module, f"{_AROUND}{number}")
            linalg.remove_attributes(module, NODE, _AROUND)


def _group(view: FunctionView, one: Scheduled, kept: set[str]) -> TileGroup | None:
    """What is computed in the first loops of a schedule; None where that is nothing more."""
    writer = structured(one.op) if one.op in view.positions else None
    peeled = leading(one.nest)
    if writer is None or not peeled:
        return None
    epilogue = _epilogue(view, writer, kept)
    if epilogue is None or not _is_legal(one.nest, peeled):
        return None
    reader, dimensions = epilogue
    names = one.nest.space.names
    loops = tuple(names.index(loop.axis) for loop in peeled)
    places = [writer.out.index(loop) for loop in loops]
    members = [
        *_first_values(view, writer, places),
        Member(writer, loops),
        Member(reader, tuple(dimensions[place] for place in places)),
    ]
    return TileGroup(
        view,
        tuple(members),
        _steps(one.nest, peeled),
        tuple(f"{LOOP_PATH}{loop.name}" for loop in peeled),
        peeled[0].parallelize,
    )


def _epilogue(
    view: FunctionView, writer: Structured, kept: set[str]
) -> tuple[Structured, list[int]] | None:
    """The only reader of a result, and its loop for each dimension of that; None if not fusable."""
    uses = view.uses.get(writer.result, [])
    readers = [view.nests.get(op) for op, _ in uses]
    reader = readers[0] if readers else None
    if reader is None or any(one is not reader for one in readers):
        return None
    rows = {reader.indices[number] for _, number in uses}
    loops = [index.loop for index in rows.pop()]
    each_once = not rows and sorted(one for one in loops if one is not None) == sorted(reader.out)
    if not each_once or len(loops) != len(reader.extents) or reader.device != writer.device:
        return None
    if any(number == reader.destination for _, number in uses):
        return None
    if linalg.graph_node(reader.op) in kept:
        return None
    return reader, [loop for loop in loops if loop is not None]


def _first_values(view: FunctionView, writer: Structured, places: Sequence[int]) -> list[Member]:
    """What fills the destination for this one operation, where something does."""
    value = writer.op.operands[writer.destination]
    fill = view.nest_of(value)
    if fill is None or fill.op.name != "linalg.fill" or len(view.uses[value]) > 1:
        return []
    return [Member(fill, tuple(fill.out[place] for place in places))]


def _steps(nest: Nest, peeled: Sequence[NestLoop]) -> tuple[int, ...]:
    """Elements that one iteration of each loop covers."""
    return tuple(extent.step for extent in nest.extents()[: len(peeled)])


def _is_legal(nest: Nest, peeled: Sequence[NestLoop]) -> bool:
    """Whether what is left of the schedule is, in whole tiles and in the remainder."""
    whole = dict(zip((loop.axis for loop in peeled), _steps(nest, peeled), strict=True))
    last = peeled[-1].axis
    rest = nest.space.size(last) % whole[last]
    parts = [whole, {**whole, last: rest}] if rest else [whole]
    if rest and peeled[-1].parallelize:
        parts[1] = {last: rest}
    sizes = {axis.name: axis.size for axis in nest.axes}
    return all(inside(nest, peeled, {**sizes, **part}) is not None for part in parts)


def _reschedule(module: Operation, mark: str, nest: Nest) -> None:
    """Write what is left of the schedule to the operations that came of one, whole and rest."""
    peeled = leading(nest)
    for op in linalg.operations_with(module, mark):
        sizes = dict(zip(nest.space.names, linalg.trip_counts(op), strict=True))
        left = inside(nest, peeled, sizes)
        if left is not None:
            op.attributes[SCHEDULE_MARK] = StringAttr.get(nest_data(left))
        give_buffers(op, peeled[-1].pack, result=peeled[-1].buffer)


def _mark(group: TileGroup, mark: str) -> None:
    """Mark what fills the tile and what follows."""
    for member in group.members:
        if SCHEDULE_MARK not in member.nest.op.attributes:
            member.nest.op.attributes[mark] = UnitAttr.get()


def _vectorize(module: Operation, mark: str) -> None:
    """Let what is before and after the sum, and short now, be vectors along rows of its tile."""
    for op in linalg.operations_with(module, mark):
        nest = structured(op)
        if nest is not None and _has_vectors(nest):
            op = read_destination(nest)
            names = [f"d{loop}" for loop in range(len(nest.extents))]
            items = [f"{name}{_unrolled(nest, loop)}" for loop, name in enumerate(names[:-1])]
            if nest.extents[-1] > _LANES:
                items += [names[-1], f"{names[-1]}#{_LANES}=vectorize"]
            else:
                items.append(f"{names[-1]}=vectorize")
            op.attributes[LOOP_NAMES] = ArrayAttr.get(list(map(StringAttr.get, names)))
            op.attributes[SCHEDULE_MARK] = ArrayAttr.get(list(map(StringAttr.get, items)))


def _unrolled(nest: Structured, loop: int) -> str:
    """Written out where it is over the rows of a register tile."""
    is_last = loop == len(nest.extents) - 2
    return "=unroll" if is_last and 1 < nest.extents[loop] <= _ROWS else ""


def _has_vectors(nest: Structured) -> bool:
    """Whether all operands are rows along the last loop or stand still, for plain arithmetic."""
    last = len(nest.extents) - 1
    used = [n for n in range(len(nest.indices)) if nest.uses_loop(n, last)]
    plain = all(op.name.startswith(("arith.", "linalg.yield")) for op in body_operations(nest.op))
    along = nest.destination in used and all(nest.is_contiguous(n, last) for n in used)
    bytes = all(element_bits(nest.op.operands[n]) >= 8 for n in used)
    return plain and along and bytes and nest.extents[last] > 1
