# SPDX-License-Identifier: Apache-2.0
"""A view of a function for passes: its operations in order, their producers and uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xtc.ir.analysis.structured import Structured, body_operations, structured
from xtc.ir.attributes import EXTERNAL, KERNEL, LOOP_PATH, LOOP_SCHEDULE
from xtc.ir.mlir import Operation, Value, capturing_operations, outer_operations

_SETTLED = (LOOP_SCHEDULE, EXTERNAL)


@dataclass(eq=False)
class FunctionView:
    """A snapshot of one block, of a function or of a loop.

    Attributes:
        ops: the operations of the block in order, without those in nested regions.
        uses: for each value, the operations that read it, nested ones included, with the operand
            numbers; not for values inside named linalg operations.
        positions: the position of each operation in `ops`.
        producers: for each value, the operation of `ops` that computes it.
        nests: the operations of `ops` on tensors that may be rewritten as loop nests. Operations
            with a user's schedule, marked for one kernel, or with a `linalg.index` are excluded.
        indexed: the same for operations with a `linalg.index`.
    """

    ops: list[Operation] = field(default_factory=list)
    uses: dict[Value, list[tuple[Operation, int]]] = field(default_factory=dict)
    positions: dict[Operation, int] = field(default_factory=dict)
    producers: dict[Value, Operation] = field(default_factory=dict)
    nests: dict[Operation, Structured] = field(default_factory=dict)
    indexed: dict[Operation, Structured] = field(default_factory=dict)

    def nest_of(self, value: Value) -> Structured | None:
        """The loop nest that computes the value, or None."""
        producer = self.producers.get(value)
        return None if producer is None else self.nests.get(producer)

    def is_produced_by(self, value: Value, name: str) -> bool:
        """Whether an operation of this name computes the value."""
        producer = self.producers.get(value)
        return producer is not None and producer.name == name


def functions(module: Operation) -> Iterator[FunctionView]:
    """A view of each function of `module` with a single block."""
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
    """A view of each function with a single block, then of each loop that contains linalg.

    The loops of applied schedules are included.
    """
    yield from functions(module)
    for op in [op for op in outer_operations(module) if op.name == "scf.for"]:
        inside = (inner.operation for inner in op.regions[0].blocks[0].operations)
        if any(inner.name.startswith("linalg.") for inner in inside):
            yield _view(op)


def blocks_of(ops: Iterable[Operation]) -> Iterator[FunctionView]:
    """A view of each block with one of these operations that is its region's only block."""
    seen: set[Operation] = set()
    for around in (op.parent for op in ops):
        if around is not None and around not in seen and len(around.regions[0].blocks) == 1:
            seen.add(around)
            yield _view(around)


def unscheduled_reductions(module: Operation, destinations: int = 1) -> list[Structured]:
    """The reductions of `module`, at any depth, without a user's schedule.

    Reductions whose body has a `linalg.index` or a region, or that have more destinations, are
    excluded.
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
    """Whether a user's schedule applies to the operation or created a loop around it."""
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
        if (nest := view.nests.pop(op, None)) is not None:
            view.indexed[op] = nest
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
