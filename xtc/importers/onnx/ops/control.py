# SPDX-License-Identifier: Apache-2.0
"""Control flow that is known at import: branches that fold, loops of a fixed length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import moved_axis, part, stacked
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
    body = call.required("body")
    count = _count(call)
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
    body: onnx.GraphProto = call.required("body")
    streams = int(call.required("num_scan_inputs"))
    carried = [call.value(n) for n in range(len(call.inputs) - streams)]
    inputs = [call.tensor(n) for n in range(len(carried), len(call.inputs))]
    outputs = len(body.output) - len(carried)
    axes = _list(call, "scan_input_axes", streams)
    backward = _list(call, "scan_input_directions", streams)
    axes = [axis % x.type.rank for axis, x in zip(axes, inputs, strict=True)]
    count = inputs[0].type.sizes[axes[0]]
    if count > LONGEST:
        raise Unsupported(f"a scan of {count} iterations, of which at most {LONGEST} are unrolled")
    collected: list[list[Value]] = [[] for _ in range(outputs)]
    for number in range(count):
        taken = [
            _slice(x, axis, count - 1 - number if back else number)
            for x, axis, back in zip(inputs, axes, backward, strict=True)
        ]
        results = call.run(body, [*carried, *taken])
        carried = results[: len(carried)]
        for column, value in zip(collected, results[len(carried) :], strict=True):
            column.append(value)
    into = _list(call, "scan_output_axes", outputs)
    turned = _list(call, "scan_output_directions", outputs)
    stacks = [
        _along(column[::-1] if back else column, axis)
        for column, axis, back in zip(collected, into, turned, strict=True)
    ]
    return [*carried, *stacks]


def _list(call: Call, name: str, count: int) -> list[int]:
    return [int(value) for value in call.attribute(name, [0] * count)]


def _slice(x: Tensor, axis: int, number: int) -> Tensor:
    sizes = x.type.sizes
    return O.reshape(part(x, axis, number, number + 1), (*sizes[:axis], *sizes[axis + 1 :]))


def _along(column: Sequence[Value], axis: int) -> Value:
    rank = len(shape_of(column[0])) + 1
    stack = as_tensor(_stacked(column, 0))
    return moved_axis(stack, 0, axis % rank)


@reads("Scan", 8, folds=False)
def scan_batched(call: Call) -> list[Value]:
    raise Unsupported("scans over batches of sequences of different lengths")
