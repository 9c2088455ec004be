# SPDX-License-Identifier: Apache-2.0
"""apply-schedules: operations that carry a schedule become the loops it describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError, UserError
from xtc.core.loops import Axis, check_nest, parse_nest
from xtc.core.loops.script import VECTORIZE, Materialize, ScriptWriter, Unmark
from xtc.core.mlir import Operation, StringAttr, UnitAttr
from xtc.core.passes import Pass
from xtc.core.transform import apply_script
from xtc_passes import _linalg as linalg

SCHEDULE = "loop.schedule"
DIMS = "loop.dims"


@dataclass(frozen=True)
class ApplySchedules(Pass):
    """Tile, order, split, fuse, buffer and vectorize as `loop.schedule` says.

    Before:
        linalg.matmul {loop.dims = ["i", "j", "k"],
                       loop.schedule = "{i: {}, j: {}, k: {}, j#16: vectorize}"} ...
    After:
        scf.for ... { scf.for ... { scf.for ... { vector.transfer_read ... } {"./k"} } {"./j"} } {"./i"}

    Loops carry their path and, for `unroll-loops`, the factor. What cannot be done is an error:
    UserError for an illegal schedule, CompileError where a transform does not apply.
    """

    name: ClassVar[str] = "apply-schedules"

    def run(self, module: Operation) -> None:
        scheduled = linalg.operations_with(module, SCHEDULE)
        if not scheduled:
            return
        titles = [_mark(op, position) for position, op in enumerate(scheduled)]
        apply_script(module, "\n".join(map(_generalize, range(len(titles)))))
        writer = ScriptWriter()
        for position, title in enumerate(titles):
            _write(writer, module, position, title)
        for phase in writer.phases:
            apply_script(module, "\n".join(phase.lines))
            if isinstance(phase.action, Materialize):
                _materialize(module, phase.action)
            elif isinstance(phase.action, Unmark):
                _unmark_inner(module, phase.action.mark)
        _vectorize(module)
        linalg.remove_attributes(module, "xtc.mark.", "xtc.node.", "xtc.producer.")


def _mark(op: Operation, position: int) -> str:
    """Give a scheduled operation a mark of its own; returns how to call it in messages."""
    if DIMS not in op.attributes:
        raise UserError(
            f"an operation has {SCHEDULE} but no {DIMS}",
            where=str(op.location),
            hints=[f'name its loops: {DIMS} = ["i", "j", "k"]'],
        )
    op.attributes[f"xtc.node.{position}"] = UnitAttr.get(op.context)
    return linalg.node_id(op) or op.name


def _generalize(position: int) -> str:
    """A named operation as linalg.generic: only there are its index maps attributes."""
    kind = "!transform.any_op"
    return (
        f"%n{position} = transform.structured.match attributes {{xtc.node.{position}}} in %root "
        f": ({kind}) -> {kind}\n"
        f"%g{position} = transform.structured.generalize %n{position} : ({kind}) -> {kind}\n"
        f'transform.annotate %g{position} "xtc.node.{position}" : {kind}'
    )
