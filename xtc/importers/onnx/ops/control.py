# SPDX-License-Identifier: Apache-2.0
"""Control flow that is known at import: branches that fold, loops of a fixed length."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import onnx

import xtc.ops as O
from xtc.core.errors import UserError
from xtc.graph.body import traced
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import moved_axis, part, stacked
from xtc.importers.compositions.repetition import Step, repeated
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.table import reads
from xtc.importers.values import (
    Array,
    Unsupported,
    Value,
    ValueNeeded,
    as_tensor,
    dtype_of,
    shape_of,
)

LONGEST = 4096  # iterations of an unrolled loop
MOST_UNROLLED = 8  # of one that can be a loop in the IR
MOST_CHOSEN = 256  # of one whose condition is computed: all of them run


@reads("If", 1, 11, 13, 16, 19, 21, 23, 24, 25, folds=False)
def if_(call: Call) -> list[Value]:
    condition = call.value(0)
    branches = call.required("then_branch"), call.required("else_branch")
    if not isinstance(condition, Tensor):
        return call.run(branches[0 if condition.reshape(-1)[0] else 1], [])
    # Nothing has effects: both are computed, and their results chosen between.
    try:
        then, other = (call.run(branch, []) for branch in branches)
    except Unsupported as error:
        raise ValueNeeded(condition, f"a condition that is not constant, and {error}") from None
    for a, b in zip(then, other, strict=True):
        if (shape_of(a), dtype_of(a)) != (shape_of(b), dtype_of(b)):
            why = "branches of different types, and a condition that is not constant"
            raise ValueNeeded(condition, why)
    chosen = O.reshape(condition, ())
    return [O.where(chosen, as_tensor(a), as_tensor(b)) for a, b in zip(then, other, strict=True)]


@reads("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25, folds=False)
def loop(call: Call) -> list[Value]:
    count = _count(call)
    found = _as_scan(call, count) if MOST_UNROLLED < count <= LONGEST else None
    return _unrolled(call, count) if found is None else found


def _as_scan(call: Call, count: int) -> list[Value] | None:
    """The loop as one in the IR; None where its body needs to know the iteration's number,
    or whether it takes place."""
    carried = [call.value(n) for n in range(2, len(call.inputs))]
    goes_on: Value = call.value(1) if call.has(1) else np.array(True)
    if isinstance(goes_on, Tensor) or not goes_on.reshape(-1)[0]:
        return None
    body = call.required("body")
    if _folds(call, body, [np.array(0), goes_on, *carried]):
        return None

    def step(old: list[Tensor], row: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        results = call.run(body, [row[0], np.array(True), *old])
        if isinstance(results[0], Tensor) or not results[0].reshape(-1)[0]:
            raise Unsupported("a condition that is computed")
        new = [as_tensor(value) for value in results[1:]]
        return new[: len(carried)], new[len(carried) :]

    return attempted(call, step, carried, [np.arange(count)])


def _folds(call: Call, body: onnx.GraphProto, operands: Sequence[Value]) -> bool:
    """Whether the results of an iteration are known now; what it writes is dropped."""
    found: list[Value] = []

    def write() -> list[Tensor]:
        found.extend(call.run(body, operands))
        return []

    with suppress(Unsupported, UserError), call.trial():
        traced(write, [])
    return bool(found) and not any(isinstance(value, Tensor) for value in found)


def attempted(
    call: Call, step: Step, carried: Sequence[Value], rows: Sequence[Value]
) -> list[Value] | None:
    """What a loop in the IR carries in the end, then what it collects; None where it cannot be."""
    try:
        with call.trial():
            found = repeated(step, [as_tensor(x) for x in carried], [as_tensor(x) for x in rows])
    except (Unsupported, UserError):
        return None  # written out, its numbers are known
    return [*found[0], *found[1]]


def _unrolled(call: Call, count: int) -> list[Value]:
    body = call.required("body")
    carried = [call.value(n) for n in range(2, len(call.inputs))]
    goes_on: Value = call.value(1) if call.has(1) else np.array(True)
    collected: list[list[Value]] = [[] for _ in body.output[1 + len(carried) :]]
    running: Tensor | None = None  # None while it is known at import that the loop goes on
    for number in range(count):
        if isinstance(goes_on, Tensor):
            running = _still(running, goes_on, count, collects=bool(collected))
        elif not goes_on.reshape(-1)[0]:
            break
        results = call.run(body, [np.array(number, np.int64), goes_on, *carried])
        goes_on, new = results[0], results[1 : 1 + len(carried)]
        carried = new if running is None else _chosen(running, new, carried, goes_on)
        for column, value in zip(collected, results[1 + len(carried) :], strict=True):
            column.append(value)
    return [*carried, *(_stacked(column, 0) for column in collected)]


def _count(call: Call) -> int:
    count = max(int(call.static(0).reshape(-1)[0]), 0) if call.has(0) else LONGEST
    if count > LONGEST and not call.has(1):
        raise Unsupported(f"a loop of {count} iterations, of which at most {LONGEST} are unrolled")
    return min(count, LONGEST + 1)


def _still(running: Tensor | None, goes_on: Tensor, count: int, *, collects: bool) -> Tensor:
    """Whether a loop whose condition is computed is still running; all its iterations are written.

    Raises ValueNeeded where they are too many, or where their number is a size of a result.
    """
    if count > MOST_CHOSEN or collects:
        raise ValueNeeded(goes_on, "a loop whose length is known only when the graph runs")
    now = O.reshape(goes_on, ())
    return now if running is None else O.minimum(running, now)


def _chosen(
    running: Tensor, new: Sequence[Value], old: Sequence[Value], goes_on: Value
) -> list[Value]:
    """What a loop carries after an iteration that may not take place."""
    result: list[Value] = []
    for after, before in zip(new, old, strict=True):
        if (shape_of(after), dtype_of(after)) != (shape_of(before), dtype_of(before)):
            condition = goes_on if isinstance(goes_on, Tensor) else running
            raise ValueNeeded(condition, "a loop of unknown length whose values change their types")
        result.append(O.where(running, as_tensor(after), as_tensor(before)))
    return result


def _stacked(column: Sequence[Value], axis: int) -> Value:
    if not column:
        raise Unsupported("results of no iteration")
    arrays = [value for value in column if isinstance(value, np.ndarray)]
    if len(arrays) == len(column):
        stack: Array = np.stack(arrays, axis)
        return stack
    return stacked([as_tensor(value) for value in column], axis)


@reads("Scan", 9, 11, 16, 19, 21, 23, 24, 25, folds=False)
def scan(call: Call) -> list[Value]:
    streams = int(call.required("num_scan_inputs"))
    carried = [call.value(n) for n in range(len(call.inputs) - streams)]
    rows = _rows(call, len(carried), streams)
    count = rows[0].type.sizes[0]
    found = _scanned(call, carried, rows) if count > MOST_UNROLLED else None
    results = _scanned_unrolled(call, carried, rows, count) if found is None else found
    outputs = len(results) - len(carried)
    into = _list(call, "scan_output_axes", outputs)
    turned = _list(call, "scan_output_directions", outputs)
    stacks = [
        _along(stack, axis, turned=bool(back))
        for stack, axis, back in zip(results[len(carried) :], into, turned, strict=True)
    ]
    return [*results[: len(carried)], *stacks]


def _rows(call: Call, first: int, streams: int) -> list[Tensor]:
    """The operands that are read row by row, in the order in which they are read."""
    axes = _list(call, "scan_input_axes", streams)
    backward = _list(call, "scan_input_directions", streams)
    rows = []
    for number, (axis, back) in enumerate(zip(axes, backward, strict=True)):
        x = call.tensor(first + number)
        x = moved_axis(x, axis % x.type.rank, 0)
        rows.append(O.flip(x, axes=(0,)) if back else x)
    if len({x.type.sizes[0] for x in rows}) != 1:
        raise Unsupported("operands of different lengths")
    return rows


def _scanned(call: Call, carried: Sequence[Value], rows: Sequence[Tensor]) -> list[Value] | None:
    """The scan as one loop in the IR; None where its body needs what is known at import."""

    def step(old: list[Tensor], row: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        results = [as_tensor(value) for value in call.run(call.required("body"), [*old, *row])]
        return results[: len(carried)], results[len(carried) :]

    return attempted(call, step, carried, rows)


def _scanned_unrolled(
    call: Call, carried: Sequence[Value], rows: Sequence[Tensor], count: int
) -> list[Value]:
    if count > LONGEST:
        raise Unsupported(f"a scan of {count} iterations, of which at most {LONGEST} are unrolled")
    body: onnx.GraphProto = call.required("body")
    collected: list[list[Value]] = [[] for _ in body.output[len(carried) :]]
    for number in range(count):
        results = call.run(body, [*carried, *(_slice(x, 0, number) for x in rows)])
        carried = results[: len(carried)]
        for column, value in zip(collected, results[len(carried) :], strict=True):
            column.append(value)
    return [*carried, *(_stacked(column, 0) for column in collected)]


def _list(call: Call, name: str, count: int) -> list[int]:
    return [int(value) for value in call.attribute(name, [0] * count)]


def _slice(x: Tensor, axis: int, number: int) -> Tensor:
    sizes = x.type.sizes
    return O.reshape(part(x, axis, number, number + 1), (*sizes[:axis], *sizes[axis + 1 :]))


def _along(stack: Value, axis: int, *, turned: bool) -> Value:
    """Stacked results in the order and along the dimension that they are wanted in."""
    x = as_tensor(stack)
    return moved_axis(O.flip(x, axes=(0,)) if turned else x, 0, axis % x.type.rank)


@reads("Scan", 8, folds=False)
def scan_batched(call: Call) -> list[Value]:
    raise Unsupported("scans over batches of sequences of different lengths")
