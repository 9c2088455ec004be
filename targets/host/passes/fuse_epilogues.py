# SPDX-License-Identifier: Apache-2.0
"""fuse-epilogues: moves initial values and consumers of a scheduled reduction into its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis import linalg_ops as linalg
from xtc.ir.analysis.function_view import FunctionView, blocks_of
from xtc.ir.analysis.structured import Structured, body_operations, element_bits, structured
from xtc.ir.attributes import LOOP_DIMS, LOOP_SCHEDULE, NEIGHBOR, SCHEDULED_PREFIX, loop_path
from xtc.ir.mlir import ArrayAttr, F32Type, Operation, StringAttr, UnitAttr
from xtc.ir.passes import Pass
from xtc.loops import ALL, Nest, NestLoop
from xtc.loops.nest_attribute import write_loops, write_nest
from xtc_passes.tensor._overwrite import overwrite_inputs
from xtc_passes.tensor._scheduled import Scheduled, fused_nodes, no_consumer
from xtc_passes.tensor._tile import Member, TileGroup
from xtc_passes.tensor._tile_buffers import give_buffers
from xtc_passes.tensor.apply_schedules import ApplySchedules
from xtc_targets.host.passes._peel import inside, leading

_LANES = 64  # lanes of an epilogue's vectors: at least four registers on any machine
_VECTOR_MATH = {  # functions with instructions, or with an expansion by `expand-math`
    *("math.absf", "math.ceil", "math.copysign", "math.floor", "math.fma", "math.roundeven"),
    *("math.sqrt", "math.trunc", "math.erf", "math.erfc", "math.exp", "math.tanh"),
}
_ROWS = 16  # of a register tile, which stays in registers if it is fully unrolled


@dataclass(frozen=True)
class FuseEpilogues(Pass):
    """Move initial values and elementwise consumers of a scheduled reduction into its outer loops.

    If a schedule begins with loops over axes of the result, each iteration finishes a part of the
    result. The initial values of that part are computed just before; bias, activation or rounding
    follow while the part is in a cache or in registers. The operation keeps the rest of its
    schedule, whose first loops are treated in the same way. The consumer must be elementwise, the
    only reader, on the same device, and without a schedule.

    Before:
        %m = linalg.matmul {loop.schedule = ["i", "k", "i#4=unroll", "j"]} ins(%a, %b) outs(%zero)
        %r = linalg.generic ins(%m) { arith.maximumf }
    After:
        %r = scf.for %i = 0 to 512 step 4 {
          linalg.fill of 4 rows
          linalg.matmul {loop.schedule = ["k", "i=unroll", "j"]} on 4 rows
          linalg.generic on 4 rows } {"./i"}
    """

    name: ClassVar[str] = "fuse-epilogues"

    def run(self, module: Operation) -> None:
        with module.context:
            while _fuse(module):
                pass
            _vectorize(module)
            linalg.remove_attributes(module, NEIGHBOR)


def _fuse(module: Operation) -> bool:
    """Move producers and consumers into the first loops of reductions; False if none moved."""
    found = ApplySchedules().nests(module)
    kept = fused_nodes(module)
    # Nothing moves into a schedule that begins with other loops, so its block needs no view.
    numbers = {entry.op: number for number, entry in enumerate(found) if leading(entry.nest)}
    moved = False
    for view in list(blocks_of(numbers)):
        # Found before anything moves, because the key of an operation depends on its operands.
        groups = [
            (_group(view, found[numbers[op]], kept), found[numbers[op]].nest, numbers[op])
            for op in view.ops
            if op in numbers
        ]
        taken: list[Structured] = []
        # The last first: operands of later operations change when an earlier one moves.
        for group, nest, number in reversed(groups):
            # An operation that reads two results moves to the second one.
            if group is not None and group.root not in taken and _is_known(group):
                taken.append(group.root)
                _move(group, nest, f"{SCHEDULED_PREFIX}{number}")
                moved = True
    linalg.remove_attributes(module, SCHEDULED_PREFIX)
    return moved


def _is_known(group: TileGroup) -> bool:
    """Whether no member reads a moved operation; otherwise the next round finds it again."""
    return all(member.nest.op in group.view.positions for member in group.members)


def _move(group: TileGroup, nest: Nest, mark: str) -> None:
    """Move a group into the first loops of the schedule of its marked operation."""
    overwrite_inputs(group.view, group.members)
    if _has_vectors(nest):
        _mark(group)
    _reschedule([op for op in group.rewrite() if mark in op.attributes], nest)


def _group(
    view: FunctionView, scheduled: Scheduled, kept: set[tuple[str, str]]
) -> TileGroup | None:
    """The operations to fuse into the first loops of a schedule; None if there are none."""
    writer = structured(scheduled.op) if scheduled.op in view.positions else None
    peeled = leading(scheduled.nest)
    if writer is None or not peeled or not _is_legal(scheduled.nest, peeled):
        return None
    names = scheduled.nest.space.names
    loops = tuple(names.index(loop.axis) for loop in peeled)
    numbers = [writer.out.index(loop) for loop in loops]
    producers = [_producer(view, writer, operand, loops) for operand in peeled[-1].fuse]
    before = [*producers, *_first_values(view, writer, numbers)]
    epilogue = _epilogue(view, writer, numbers, kept)
    if not epilogue and any(loop.consumer for loop in scheduled.nest.loops):
        raise no_consumer(scheduled)
    members = [*before, Member(writer, loops), *epilogue]
    if len(members) == 1 + len(producers) or None in producers:
        return None
    return TileGroup(
        view,
        tuple(member for member in members if member is not None),
        _steps(scheduled.nest, peeled),
        tuple(loop_path(loop.name) for loop in peeled),
        peeled[0].parallelize,
    )


def _producer(
    view: FunctionView, writer: Structured, operand: int, loops: Sequence[int]
) -> Member | None:
    """The elementwise producers of operands that only this operation reads, by these loops."""
    value = writer.op.operands[operand]
    producer = view.nest_of(value)
    if producer is None or producer.reductions or len(view.uses[value]) > 1:
        return None
    if not view.is_produced_by(producer.op.operands[producer.destination], "tensor.empty"):
        return None
    dimensions = [index.loop for index in writer.indices[operand]]
    if not set(loops) <= set(dimensions):
        return None
    return Member(producer, tuple(producer.out[dimensions.index(loop)] for loop in loops))


def _epilogue(
    view: FunctionView, writer: Structured, numbers: Sequence[int], kept: set[tuple[str, str]]
) -> list[Member]:
    """The only reader of a result, if it can be fused into these loops; otherwise nothing."""
    uses = view.uses.get(writer.result, [])
    readers = [view.nests.get(op) for op, _ in uses]
    reader = readers[0] if readers else None
    if reader is None or any(other is not reader for other in readers):
        return []
    rows = {reader.indices[number] for _, number in uses}
    dimensions = [index.loop for index in rows.pop()]
    loops = [loop for loop in dimensions if loop is not None]
    each_once = not rows and sorted(loops) == sorted(reader.out)
    if not each_once or len(dimensions) != len(reader.extents) or reader.device != writer.device:
        return []
    if linalg.node_in_function(reader.op) in kept or _transposes(reader, loops):
        return []
    return [Member(reader, tuple(loops[number] for number in numbers))]


def _transposes(reader: Structured, loops: Sequence[int]) -> bool:
    """Whether an operation reads contiguous elements that are strided in its result.

    On its own it writes whole blocks of vectors, faster than from the tiles of a reduction.
    """
    read, written = (
        [loop for loop in order if reader.extents[loop] > 1] for order in (loops, reader.out)
    )
    return read[-1:] != written[-1:]


def _first_values(view: FunctionView, writer: Structured, numbers: Sequence[int]) -> list[Member]:
    """The elementwise producers of the initial values that only this operation reads."""
    value = writer.op.operands[writer.destination]
    producer = view.nest_of(value)
    if (
        producer is None
        or producer.reductions
        or producer.reads_destination
        or len(view.uses[value]) > 1
    ):
        return []
    return [Member(producer, tuple(producer.out[number] for number in numbers))]


def _steps(nest: Nest, peeled: Sequence[NestLoop]) -> tuple[int, ...]:
    """Elements that one iteration of each loop covers."""
    return tuple(extent.step for extent in nest.extents() if extent.loop in peeled)


def _is_legal(nest: Nest, peeled: Sequence[NestLoop]) -> bool:
    """Whether the rest of the schedule is legal, in whole tiles and in the remainder."""
    whole = dict(zip((loop.axis for loop in peeled), _steps(nest, peeled), strict=True))
    last = peeled[-1].axis
    rest = nest.space.size(last) % whole[last]
    parts = [whole, {**whole, last: rest}] if rest else [whole]
    if rest and peeled[-1].parallelize:
        parts[1] = {last: rest}
    sizes = {axis.name: axis.size for axis in nest.axes}
    return all(inside(nest, peeled, {**sizes, **part}) is not None for part in parts)


def _reschedule(ops: Sequence[Operation], nest: Nest) -> None:
    """Give the copies of an operation, whole tiles and remainder, the rest of its schedule."""
    peeled = leading(nest)
    for op in ops:
        sizes = dict(zip(nest.space.names, linalg.trip_counts(op), strict=True))
        left = inside(nest, peeled, sizes)
        if left is not None:
            write_nest(op, left)
        give_buffers(op, peeled[-1].pack, result=peeled[-1].buffer)


def _has_vectors(nest: Nest) -> bool:
    return any(loop.vectorize for part in nest.walk() for loop in part.loops)


def _mark(group: TileGroup) -> None:
    """Mark the operations that were fused with the reduction."""
    for member in group.members:
        if LOOP_SCHEDULE not in member.nest.op.attributes:
            member.nest.op.attributes[NEIGHBOR] = UnitAttr.get()


def _vectorize(module: Operation) -> None:
    """Vectorize the fused operations along the rows of the register tile."""
    for op in linalg.operations_with(module, NEIGHBOR):
        nest = structured(op)
        if nest is not None:
            _read_in_place(nest)
        if nest is not None and _is_row(nest):
            names = [f"d{loop}" for loop in range(len(nest.extents))]
            op.attributes[LOOP_DIMS] = ArrayAttr.get(list(map(StringAttr.get, names)))
            write_loops(op, _row_loops(nest, names))


def _row_loops(nest: Structured, names: Sequence[str]) -> list[NestLoop]:
    """Loops with vectors along rows."""
    loops = [NestLoop(name, unroll=_unrolled(nest, n)) for n, name in enumerate(names[:-1])]
    if nest.extents[-1] <= _LANES:
        return [*loops, NestLoop(names[-1], vectorize=True)]
    return [*loops, NestLoop(names[-1]), NestLoop(names[-1], _LANES, vectorize=True)]


def _read_in_place(nest: Structured) -> None:
    """Read an overwritten operand through the destination: loops carry only that value."""
    arguments = nest.body.arguments
    destination = nest.destination
    for number in range(destination):
        is_same = nest.op.operands[number] == nest.op.operands[destination]
        if is_same and nest.indices[number] == nest.indices[destination]:
            arguments[number].replace_all_uses_with(arguments[destination])


def _unrolled(nest: Structured, loop: int) -> int:
    """The unroll factor: full for the rows of a register tile with few instructions per row."""
    is_last = loop == len(nest.extents) - 2
    short = not any(op.name.startswith("math.") for op in body_operations(nest.op))
    return ALL if short and is_last and 1 < nest.extents[loop] <= _ROWS else 0


def _is_row(nest: Structured) -> bool:
    """Whether operands are rows along the last loop or invariant, and the body is vectorizable."""
    last = len(nest.extents) - 1
    used = [n for n in range(len(nest.indices)) if nest.uses_loop(n, last)]
    plain = all(_has_vector_form(op) for op in body_operations(nest.op))
    along = nest.destination in used and all(nest.is_contiguous(n, last) for n in used)
    bytes = all(element_bits(nest.op.operands[n]) >= 8 for n in used)
    return plain and along and bytes and nest.extents[last] > 1


def _has_vector_form(op: Operation) -> bool:
    """Whether an operation needs no call per element of a vector."""
    if op.name.startswith("math."):
        return bool(op.name in _VECTOR_MATH and isinstance(op.results[0].type, F32Type))
    return bool(op.name.startswith(("arith.", "linalg.yield")))
