# SPDX-License-Identifier: Apache-2.0
"""A function as passes see it: its operations in order, their producers and uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xtc.ir.analysis.structured import Structured, body_operations, structured
from xtc.ir.attributes import EXTERNAL, KERNEL, LOOP_PATH, LOOP_SCHEDULE
from xtc.ir.mlir import Operation, Value, capturing_operations, outer_operations

_SETTLED = (LOOP_SCHEDULE, EXTERNAL)


@dataclass(eq=False)
class FunctionView:
    """One block, of a function or of a loop, as it is when the view is made.

    Attributes:
        ops: the operations of the block, in order, without those in nested regions.
        uses: for each value the operations that read it, nested ones included, and the numbers of
            the operands; not for values inside named linalg operations.
        positions: where each of `ops` stands.
        makers: for each value the operation of `ops` that computes it.
        nests: the operations of `ops` on tensors that may be rewritten as loop nests, which those
            may not that have a user's schedule, are marked for one kernel, or read their loop
            counters.
    """

    ops: list[Operation] = field(default_factory=list)
    uses: dict[Value, list[tuple[Operation, int]]] = field(default_factory=dict)
    positions: dict[Operation, int] = field(default_factory=dict)
    producers: dict[Value, Operation] = field(default_factory=dict)
    nests: dict[Operation, Structured] = field(default_factory=dict)

    def nest_of(self, value: Value) -> Structured | None:
        """The loop nest that computes the value."""
        producer = self.producers.get(value)
        return None if producer is None else self.nests.get(producer)

    def is_produced_by(self, value: Value, name: str) -> bool:
        """True if an operation of this name computes the value."""
        producer = self.producers.get(value)
        return producer is not None and producer.name == name


def functions(module: Operation) -> Iterator[FunctionView]:
    """A view of every function in `module` that has one block."""
    for function in _functions_in(module):
        if len(function.regions[0].blocks) == 1:
            yield _view(function)


def _functions_in(module: Operation) -> list[Operation]:
    """The functions of a module and of the modules inside it, in the order of the text."""
    found = []
    for op in (op.operation for op in module.regions[0].blocks[0].operations):
        name = op.name
        if name == "func.func":
            found.append(op)
        elif name.endswith(".module"):
            found += _functions_in(op)
    return found


def functions_and_loops(module: Operation) -> Iterator[FunctionView]:
    """A view of every function that has one block, then of each loop over operations on tensors.

    Where schedules have been applied, their loops are among these.
    """
    yield from functions(module)
    for op in [op for op in outer_operations(module) if op.name == "scf.for"]:
        inside = (inner.operation for inner in op.regions[0].blocks[0].operations)
        if any(inner.name.startswith("linalg.") for inner in inside):
            yield _view(op)


def blocks_of(ops: Iterable[Operation]) -> Iterator[FunctionView]:
    """A view of each block that has one of these operations, where no other is beside it."""
    seen: set[Operation] = set()
    for around in (op.parent for op in ops):
        if around is not None and around not in seen and len(around.regions[0].blocks) == 1:
            seen.add(around)
            yield _view(around)


def unscheduled_reductions(module: Operation, destinations: int = 1) -> list[Structured]:
    """The reductions of `module`, at any depth, that no schedule of the user's speaks of.

    Those whose body reads its loop counters, or has regions, are left out, and what has more
    destinations.
    """
    nests = (
        structured(op, destinations)
        for op in outer_operations(module)
        if op.name.startswith("linalg.") and not _is_scheduled(op)
    )
    return [
        nest
        for nest in nests
        if nest is not None and nest.reductions
        if all(not op.regions and op.name != "linalg.index" for op in body_operations(nest.op))
    ]


def _is_scheduled(op: Operation | None) -> bool:
    """True if the user's schedule is for the operation, or made a loop around it."""
    while op is not None:
        if any(name in _SETTLED or name.startswith(LOOP_PATH) for name in op.attributes):
            return True
        op = op.parent
    return False


def _view(around: Operation) -> FunctionView:
    view = FunctionView()
    counted = set()
    uses = view.uses
    for op in capturing_operations(around):
        for number, operand in enumerate(op.operands):
            if (found := uses.get(operand)) is None:
                uses[operand] = [(op, number)]
            else:
                found.append((op, number))
        if op.name == "linalg.index":
            counted.add(op.parent)
        elif op.parent == around and op != around:
            _add(view, op)
    for op in counted:
        view.nests.pop(op, None)
    return view


def _add(view: FunctionView, op: Operation) -> None:
    view.positions[op] = len(view.ops)
    view.ops.append(op)
    for result in op.results:
        view.producers[result] = op
    settled = any(name in op.attributes for name in (*_SETTLED, KERNEL))
    if len(op.results) == 1 and not settled:
        nest = structured(op)
        if nest is not None:
            view.nests[op] = nest
