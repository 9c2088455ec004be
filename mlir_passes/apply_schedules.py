# SPDX-License-Identifier: Apache-2.0
"""apply-schedules: operations that carry a schedule become the loops it describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError, UserError
from xtc.core.loops.attribute_text import NAME as SCHEDULE
from xtc.core.loops.plan import plan_nest
from xtc.core.loops.script import ANY, VECTORIZE, Fuse, Materialize, ScriptWriter
from xtc.core.mlir import Operation, UnitAttr
from xtc.core.passes import Pass
from xtc.core.transform import apply_script
from xtc_passes import _linalg as linalg
from xtc_passes._fuse_producers import fuse_producer
from xtc_passes._scheduled import (
    Scheduled,
    check_producers,
    check_schedulable,
    place_of,
    scheduled,
    title_of,
)
from xtc_passes._tile_buffers import materialize

_NODE = "xtc.node."
_MARKS = ("xtc.mark.", "xtc.fused.", _NODE, SCHEDULE)
_OURS = (linalg.ID_PREFIX, "loop.", "xtc.")


@dataclass(frozen=True)
class ApplySchedules(Pass):
    """Tile, order, split, fuse, buffer and vectorize as `loop.schedule` says.

    Before:
        linalg.matmul {loop.dims = ["i", "j", "k"],
                       loop.schedule = "{i: {}, j: {}, k: {}, j#16: vectorize}"} ...
    After:
        scf.for { scf.for { scf.for { vector.transfer_read ... } {"./k"} } {"./j"} } {"./i"}

    Loops carry their path and, for `unroll-loops`, the factor. What cannot be done is a UserError
    before anything is rewritten, but for a body that does not vectorize, which shows at the end.
    """

    name: ClassVar[str] = "apply-schedules"

    def run(self, module: Operation) -> None:
        found = self.nests(module)
        if not found:
            return
        _apply(module, _write_script(found))
        _vectorize(module)
        linalg.remove_attributes(module, *_MARKS)

    def nests(self, module: Operation) -> list[Scheduled]:
        """What is scheduled in `module`, whose operations become linalg.generic.

        Raises UserError for what cannot be done.
        """
        ops = linalg.operations_with(module, SCHEDULE)
        titles = [title_of(op) for op in ops]
        for position, op in enumerate(ops):
            check_schedulable(op)
            op.attributes[f"{_NODE}{position}"] = UnitAttr.get(op.context)
        _generalize(module, ops)
        nodes = linalg.marked(module, _NODE)
        ops = [nodes[f"{_NODE}{position}"] for position in range(len(ops))]
        found = [scheduled(op, title) for op, title in zip(ops, titles, strict=True)]
        for one in found:
            check_producers(one, ops)
        return found


def _generalize(module: Operation, scheduled: list[Operation]) -> None:
    """Named operations as linalg.generic: only there are their index maps attributes."""
    lines = []
    before = {}
    for position, op in enumerate(scheduled):
        if op.name != "linalg.generic":
            mark = f"{_NODE}{position}"
            before[mark] = linalg.dict_of(op)
            lines += [
                f"%n{position} = transform.structured.match attributes {{{mark}}} in %root "
                f": ({ANY}) -> {ANY}",
                f"%g{position} = transform.structured.generalize %n{position} : ({ANY}) -> {ANY}",
                f'transform.annotate %g{position} "{mark}" : {ANY}',
            ]
    if not lines:
        return
    apply_script(module, "\n".join(lines))
    for mark, op in linalg.marked(module, _NODE).items():
        kept = {k: v for k, v in before.get(mark, {}).items() if k.startswith(_OURS)}
        linalg.restore(op, kept)


def _write_script(found: Sequence[Scheduled]) -> ScriptWriter:
    """Transforms for every scheduled operation."""
    writer = ScriptWriter()
    for position, one in enumerate(found):
        plan = plan_nest(one.nest, one.title)
        writer.add(plan, one.nest.space.names, f"{_NODE}{position}")
    return writer


def _apply(module: Operation, writer: ScriptWriter) -> None:
    for phase in writer.phases:
        if phase.lines:
            apply_script(module, "\n".join(phase.lines))
        if isinstance(phase.action, Materialize):
            materialize(module, phase.action)
        elif isinstance(phase.action, Fuse):
            fuse_producer(module, phase.action)


def _vectorize(module: Operation) -> None:
    """Vectorize what is marked, and make sure that it happened."""
    marked = [linalg.without_unit_loops(op) for op in linalg.operations_with(module, VECTORIZE)]
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
            where=place_of(left[0]),
            notes=notes,
            hints=["leave its loops scalar, or write the body with arith and math operations"],
        )
