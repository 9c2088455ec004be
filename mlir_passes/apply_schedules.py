# SPDX-License-Identifier: Apache-2.0
"""apply-schedules: operations that carry a schedule become the loops it describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError, UserError
from xtc.core.loops import Axis, Nest, Space, check_nest, parse_nest
from xtc.core.loops.plan import plan_nest
from xtc.core.loops.script import VECTORIZE, Fuse, Materialize, ScriptWriter
from xtc.core.mlir import (
    Operation,
    StringAttr,
    UnitAttr,
)
from xtc.core.passes import Pass
from xtc.core.transform import apply_script
from xtc_passes import _linalg as linalg
from xtc_passes._fuse_producers import fuse_producer, is_fusable
from xtc_passes._tile_buffers import materialize

SCHEDULE = "loop.schedule"
DIMS = "loop.dims"
_ANY = "!transform.any_op"


@dataclass(frozen=True)
class ApplySchedules(Pass):
    """Tile, order, split, fuse, buffer and vectorize as `loop.schedule` says.

    Before:
        linalg.matmul {loop.dims = ["i", "j", "k"],
                       loop.schedule = "{i: {}, j: {}, k: {}, j#16: vectorize}"} ...
    After:
        scf.for { scf.for { scf.for { vector.transfer_read ... } {"./k"} } {"./j"} } {"./i"}

    Loops carry their path and, for `unroll-loops`, the factor. What cannot be done is an error:
    UserError for an illegal schedule, CompileError where a transform does not apply.
    """

    name: ClassVar[str] = "apply-schedules"

    def run(self, module: Operation) -> None:
        scheduled = linalg.operations_with(module, SCHEDULE)
        if not scheduled:
            return
        marks = [_mark(op, position) for position, op in enumerate(scheduled)]
        _generalize(module, marks)
        writer = ScriptWriter()
        for mark in marks:
            _write_script(writer, module, mark)
        for phase in writer.phases:
            apply_script(module, "\n".join(phase.lines))
            if isinstance(phase.action, Materialize):
                materialize(module, phase.action)
            elif isinstance(phase.action, Fuse):
                fuse_producer(module, phase.action)
        _vectorize(module)
        linalg.remove_attributes(module, "xtc.mark.", "xtc.node.", "xtc.fused.", SCHEDULE)


def _mark(op: Operation, position: int) -> str:
    """Give a scheduled operation a mark of its own. Raises UserError where it has no loop names."""
    if DIMS not in op.attributes or not isinstance(op.attributes[SCHEDULE], StringAttr):
        raise UserError(
            f"{op.name} has {SCHEDULE} but no {DIMS}, or not as text",
            where=str(op.location),
            hints=[f'{DIMS} = ["i", "j"], {SCHEDULE} = "{{i: {{}}, j: {{}}}}"'],
        )
    mark = f"xtc.node.{position}"
    op.attributes[mark] = UnitAttr.get(op.context)
    return mark


def _generalize(module: Operation, marks: list[str]) -> None:
    """Named operations as linalg.generic: only there are their index maps attributes."""
    lines = []
    before = {}
    for number, mark in enumerate(marks):
        (op,) = linalg.operations_with(module, mark)
        before[mark] = linalg.dict_of(op)
        if op.name != "linalg.generic":
            lines += [
                f"%n{number} = transform.structured.match attributes {{{mark}}} in %root "
                f": ({_ANY}) -> {_ANY}",
                f"%g{number} = transform.structured.generalize %n{number} : ({_ANY}) -> {_ANY}",
                f'transform.annotate %g{number} "{mark}" : {_ANY}',
            ]
    apply_script(module, "\n".join(lines))
    for mark, attributes in before.items():
        (op,) = linalg.operations_with(module, mark)
        linalg.restore(op, {k: v for k, v in attributes.items() if k.startswith(_OURS)})


_OURS = (linalg.ID_PREFIX, "loop.", "xtc.")


def _write_script(writer: ScriptWriter, module: Operation, mark: str) -> None:
    (op,) = linalg.operations_with(module, mark)
    title = linalg.node_id(op) or op.name
    nest = parse_nest(StringAttr(op.attributes[SCHEDULE]).value, _space(op), title)
    check_nest(nest, title)
    _check_producers(op, nest, title)
    writer.add(plan_nest(nest, title), nest.space.names, mark)


def _space(op: Operation) -> Space:
    names = [StringAttr(name).value for name in op.attributes[DIMS]]
    sizes, kinds = linalg.trip_counts(op), linalg.iterators(op)
    if len(names) != len(sizes):
        raise UserError(
            f"{DIMS} names {len(names)} loops of an operation that has {len(sizes)}",
            where=str(op.location),
        )
    axes = [Axis(n, s, k == "reduction") for n, s, k in zip(names, sizes, kinds, strict=True)]
    subscripts = [
        tuple((names[position], factor) for position, factor in index) for index in linalg.sums(op)
    ]
    return Space(tuple(axes), linalg.input_count(op), tuple(subscripts))


def _check_producers(op: Operation, nest: Nest, title: str) -> None:
    """Raise UserError where a fused operand is not computed by an operation that can be."""
    for operand in sorted(_fused_operands(nest)):
        owner = linalg.owner(op.operands[operand])
        if owner is None or not is_fusable(op.operands[operand]):
            raise UserError(
                f"operand {operand} of {title} is not computed by an operation that can be fused",
                notes=["it is an argument, a constant, or the result of moving data"],
            )
        if SCHEDULE in owner.attributes:
            raise UserError(
                f"operand {operand} of {title} is to be fused, but has a schedule of its own",
                hints=["leave out one of the two"],
            )


def _fused_operands(nest: Nest) -> set[int]:
    own = {operand for loop in nest.loops for operand in loop.fuse}
    return own.union(*(_fused_operands(segment.nest) for segment in nest.segments))


def _vectorize(module: Operation) -> None:
    """Vectorize what is marked, and make sure that it happened."""
    marked = [linalg.without_unit_loops(op) for op in linalg.operations_with(module, VECTORIZE)]
    if not marked:
        return
    apply_script(
        module,
        f"%v = transform.structured.match attributes {{{VECTORIZE}}} in %root "
        f": ({_ANY}) -> {_ANY}\n"
        f"transform.structured.vectorize %v : {_ANY}",
    )
    left = linalg.operations_with(module, VECTORIZE)
    if left:
        title = linalg.node_id(left[0]) or left[0].name
        raise CompileError(f"{title} could not be vectorized")
