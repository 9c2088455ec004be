# SPDX-License-Identifier: Apache-2.0
"""apply-schedules: turns operations with a schedule into the loops that it describes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError, UserError, located
from xtc.ir.analysis import linalg_ops as linalg
from xtc.ir.analysis.reductions import has_partial_results
from xtc.ir.analysis.structured import FLOAT_ADDITIONS, FLOAT_EXTREMES, combining_operation
from xtc.ir.attributes import (
    AXES,
    DOT,
    EXTERNAL,
    FUSED_PREFIX,
    LOOP_SCHEDULE,
    MARK_PREFIX,
    NAMESPACES,
    PARTIAL_SUMS,
    SCHEDULED_PREFIX,
    VECTORIZE,
)
from xtc.ir.builders.control import BLOCKS, THREADS, in_unit_loops
from xtc.ir.builders.unit_loops import without_unit_loops
from xtc.ir.fast_math import allow
from xtc.ir.mlir import (
    ArrayAttr,
    DenseI64ArrayAttr,
    DictAttr,
    IntegerAttr,
    Operation,
    StringAttr,
    UnitAttr,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc.ir.transform import ANY, apply_script, match_each
from xtc.loops import Mesh, Nest
from xtc.loops.check_mesh import shard_loops, thread_loops
from xtc.loops.nest import is_plain_reduction
from xtc.loops.plan import first_parallel, plan_nest, sharded_operands
from xtc.loops.script import Fuse, Materialize, ScriptWriter
from xtc_passes.tensor._fuse_producers import fuse_producer
from xtc_passes.tensor._grouped_reduction import group_loops, refusal
from xtc_passes.tensor._meshes import check_shards, erase_meshes, meshes
from xtc_passes.tensor._moved_data import look_up, moves_data
from xtc_passes.tensor._scheduled import (
    Scheduled,
    check_producers,
    check_schedulable,
    dims_of,
    location_of,
    no_consumer,
    scheduled,
    title_of,
)
from xtc_passes.tensor._tile_buffers import keep_temporaries_local, materialize

_MARKS = (MARK_PREFIX, FUSED_PREFIX, SCHEDULED_PREFIX, LOOP_SCHEDULE)


@dataclass(frozen=True)
class ApplySchedules(Pass):
    """Tile, order, split, fuse, buffer and vectorize operations by their `loop.schedule`.

    Before:
        linalg.matmul {loop.dims = ["i", "j", "k"],
                       loop.schedule = "{i: {}, j: {}, k: {}, j#16: vectorize}"} ...
    After:
        scf.for { scf.for { scf.for { vector.transfer_read ... } {"./k"} } {"./j"} } {"./i"}

    Loops carry their path and, for `unroll-loops`, the factor. An illegal schedule raises UserError
    before anything is rewritten, except for a body that cannot be vectorized, which is found at the
    end.

    Attributes:
        levels: number of levels of parallel loops that the machine has. With two, outer parallel
            loops are mapped to `#gpu.block`, inner ones to `#gpu.thread`.
        space: the memory space of packed tiles; None for that of the arguments.
        calls: whether the code may call external functions.
    """

    name: ClassVar[str] = "apply-schedules"
    levels: int = 1
    space: int | None = None
    calls: bool = False

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        apply_schedules(module, levels=self.levels, space=self.space, calls=self.calls)
        erase_meshes(module)

    def nests(self, module: Operation, distribution: Distribution | None = None) -> list[Scheduled]:
        """The scheduled operations of `module`, rewritten as linalg.generic.

        Raises UserError for an illegal schedule.
        """
        return _find(module, distribution, self.levels)


@dataclass(frozen=True)
class Distribution:
    """A target's way to run loops that are distributed over a mesh.

    Attributes:
        space: the memory space of packed tiles and of temporaries.
        check: raises UserError if the target does not have the mesh of an operation.
        threads: whether processors also share parallelized loops.
    """

    space: int
    check: Callable[[Mesh, str], None]
    threads: bool = False


def apply_schedules(
    module: Operation,
    distribution: Distribution | None = None,
    levels: int = 1,
    space: int | None = None,
    *,
    calls: bool = False,
) -> None:
    """Apply the schedules of operations.

    With `distribution`, each operation becomes a loop over memories around a loop over the
    processors of one memory. A loop that the schedule lacks has one iteration.
    """
    found = _find(module, distribution, levels)
    if not found:
        return
    for entry in found:
        if group_loops(entry.nest):
            raise refusal(entry)
        if any(loop.consumer for part in entry.nest.walk() for loop in part.loops):
            raise no_consumer(entry)
        _check_partial_sums(entry)
        if not calls:
            _check_no_calls(entry)
    _compute_moved_data(found)
    writer = _write_script(found, distribution)
    _apply(module, writer, distribution.space if distribution else space)
    _vectorize(module)
    _relax_sums(module)
    _name_functions(module, writer)
    if distribution:
        keep_temporaries_local(module, distribution.space)
    linalg.remove_attributes(module, *_MARKS)


def _find(module: Operation, distribution: Distribution | None, levels: int) -> list[Scheduled]:
    """Scheduled operations, each with a mark. Raises UserError for an illegal schedule."""
    ops = linalg.operations_with(module, LOOP_SCHEDULE)
    titles = [title_of(op) for op in ops]
    for position, op in enumerate(ops):
        check_schedulable(op)
        op.attributes[f"{SCHEDULED_PREFIX}{position}"] = UnitAttr.get(op.context)
    _generalize(module, ops)
    nodes = linalg.marked(module, SCHEDULED_PREFIX)
    ops = [nodes[f"{SCHEDULED_PREFIX}{position}"] for position in range(len(ops))]
    grids = meshes(module)
    found = [scheduled(op, title, levels, grids) for op, title in zip(ops, titles, strict=True)]
    for entry in found:
        check_producers(entry, ops)
        _check_mesh(entry, distribution)
    return found


def _generalize(module: Operation, scheduled: list[Operation]) -> None:
    """Rewrite named operations as linalg.generic, whose index maps are attributes."""
    lines: list[str] = []
    before, handles = {}, {}
    for position, op in enumerate(scheduled):
        if op.name != "linalg.generic":
            mark = f"{SCHEDULED_PREFIX}{position}"
            before[mark] = linalg.dict_of(op)
            handles[mark] = f"%n{position}"
            lines += [
                f"%g{position} = transform.structured.generalize %n{position} : ({ANY}) -> {ANY}",
                f'transform.annotate %g{position} "{mark}" : {ANY}',
            ]
    if not lines:
        return
    matches = match_each(module, handles, f"{SCHEDULED_PREFIX}all")
    apply_script(module, "\n".join(matches + lines))
    for mark, op in linalg.marked(module, SCHEDULED_PREFIX).items():
        kept = {k: v for k, v in before.get(mark, {}).items() if k.startswith(NAMESPACES)}
        linalg.restore(op, kept)


def _compute_moved_data(found: Sequence[Scheduled]) -> None:
    """Rewrite data movement that is to be fused as operations that can be tiled."""
    for entry in found:
        fused = {n for nest in entry.nest.walk() for loop in nest.loops for n in loop.fuse}
        for operand in sorted(fused):
            if moves_data(entry.op.operands[operand]):
                look_up(entry.op, operand)


def _write_script(found: Sequence[Scheduled], distribution: Distribution | None) -> ScriptWriter:
    """Transforms for every scheduled operation."""
    writer = ScriptWriter()
    for position, entry in enumerate(found):
        before = () if shard_loops(entry.nest) else sharded_operands(entry.nest)
        with located(location_of(entry.op)):
            plan = plan_nest(entry.nest, entry.title, distributed=distribution is not None)
        writer.add(plan, entry.nest.space.names, f"{SCHEDULED_PREFIX}{position}", before)
    if distribution:  # last: the operations are no longer needed
        for entry in found:
            _complete(entry.op, entry.nest)
    return writer


def _check_mesh(entry: Scheduled, distribution: Distribution | None) -> None:
    nest, title = entry.nest, entry.title
    threads = next((loop for part in nest.walk() for loop in part.loops if loop.parallelize), None)
    if distribution and threads and not distribution.threads:
        raise UserError(
            f"'{threads.name}' of {title} is parallelized, "
            f"but the target of {title} has no threads",
            where=location_of(entry.op),
            hints=["distribute it over an axis of a processor mesh"],
        )
    distributed = [loop for loop in nest.loops if loop.distribute or loop.shard]
    if not distributed or nest.space.mesh is None:
        return
    if distribution is None:
        raise UserError(
            f"'{distributed[0].name}' of {title} is distributed, "
            f"but the target of {title} has no mesh",
            where=location_of(entry.op),
            hints=[
                f"place {title} on a device that has one: device=...",
                "threads share a loop by parallelize",
            ],
        )
    with located(location_of(entry.op)):
        distribution.check(nest.space.mesh, title)
        check_shards(entry.op, nest, title)


def _complete(op: Operation, nest: Nest) -> None:
    """Add the loops over memories and processors that a schedule lacks."""
    mappings = [] if shard_loops(nest) else [BLOCKS]
    if not thread_loops(nest) and first_parallel(nest) is None:
        mappings.append(THREADS)
    if not mappings:
        return
    _, loops = in_unit_loops(op, len(op.operands) - len(op.results), mappings)
    mesh = nest.space.mesh
    names = mesh.shard_axes if mesh else ()
    if mappings[0] == BLOCKS:
        with loops[0].context:
            loops[0].attributes[AXES] = ArrayAttr.get([StringAttr.get(name) for name in names])


def _apply(module: Operation, writer: ScriptWriter, space: int | None) -> None:
    for number, phase in enumerate(writer.phases):
        if phase.lines:
            matches = match_each(module, phase.matches, f"{MARK_PREFIX}all{number}")
            apply_script(module, "\n".join(matches + phase.lines))
        if isinstance(phase.action, Materialize):
            materialize(module, phase.action, space)
        elif isinstance(phase.action, Fuse):
            fuse_producer(module, phase.action)


def _check_partial_sums(entry: Scheduled) -> None:
    """Raise UserError if a vectorized reduction has a body without partial results."""
    for nest in entry.nest.walk():
        for loop in nest.loops:
            partial = loop.vectorize and is_plain_reduction(nest, loop)
            if partial and not has_partial_results(entry.op):
                raise UserError(
                    f"'{loop.name}' of {entry.title} cannot be vectorized: its body does not "
                    "combine elements by one operation",
                    where=location_of(entry.op),
                    hints=["vectorize a parallel axis"],
                )


def _relax_sums(module: Operation) -> None:
    """Allow any order for the final reduction of partial sums, as the schedule does."""
    for op in linalg.operations_with(module, PARTIAL_SUMS):
        combining = combining_operation(op)
        if combining is not None and combining.name in (*FLOAT_ADDITIONS, *FLOAT_EXTREMES):
            allow(combining, "reassoc")
        del op.attributes[PARTIAL_SUMS]


def _check_no_calls(entry: Scheduled) -> None:
    """Raise UserError if a loop calls an external function."""
    for loop in (loop for part in entry.nest.walk() for loop in part.loops):
        if loop.external is not None:
            raise UserError(
                f"'{loop.name}' of {entry.title} calls '{loop.external.function}', but the "
                f"target of {entry.title} does not call C functions",
                where=location_of(entry.op),
                hints=["only the host calls C functions"],
            )


def _name_functions(module: Operation, writer: ScriptWriter) -> None:
    """Give operations that call external functions the full names of these functions."""
    for op in linalg.operations_with(module, EXTERNAL):
        external = writer.externals[IntegerAttr(op.attributes[EXTERNAL]).value]
        names = dims_of(op, title_of(op), len(linalg.iterators(op)))
        with module.context:
            fields = {
                name: ArrayAttr.get([StringAttr.get(text) for text in texts])
                for name, texts in (
                    ("sources", external.sources),
                    ("flags", external.flags),
                    ("names", external.axes),
                )
            }
            fields["function"] = StringAttr.get(external.function)
            loops = [names.index(axis) for axis in external.axes]
            op.attributes[EXTERNAL] = DictAttr.get(
                {**fields, "loops": DenseI64ArrayAttr.get(loops)}
            )


def _vectorize(module: Operation) -> None:
    """Vectorize the marked operations. Raises UserError if one was not vectorized.

    The operations for dot-product instructions stay linalg.generic, for `use-dot-products`.
    """
    marked = [without_unit_loops(op) for op in linalg.operations_with(module, VECTORIZE)]
    dots = [op for op in marked if DOT in op.attributes and "reduction" in linalg.iterators(op)]
    for op in dots:
        del op.attributes[VECTORIZE]
    marked = [op for op in marked if op not in dots]
    if not marked:
        return
    notes: tuple[str, ...] = ()
    try:
        apply_script(
            module,
            f"%v = transform.structured.match attributes {{{VECTORIZE}}} in %root "
            f": ({ANY}) -> {ANY}\n"
            f"transform.structured.vectorize %v : {ANY}",
        )
    except CompileError as error:
        notes = error.notes
    left = linalg.operations_with(module, VECTORIZE)
    if left:
        raise UserError(
            f"{title_of(left[0])} cannot be vectorized: its body has no form on vectors",
            where=location_of(left[0]),
            notes=notes,
            hints=["leave its loops scalar, or write the body with arith and math operations"],
        )
