# SPDX-License-Identifier: Apache-2.0
"""Loops: one of the IR where their length is known at import, otherwise all iterations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.counted import Counted, counted, written
from xtc.importers.onnx.iterations import LONGEST, MOST_UNROLLED, attempted, stack_of
from xtc.importers.onnx.table import reads
from xtc.importers.values import Unsupported, Value, ValueNeeded, as_tensor, dtype_of, shape_of

MOST_CHOSEN = 256  # iterations of a loop whose condition is computed: all of them run


@reads("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25, folds=False)
def loop(call: Call) -> list[Value]:
    count = _count(call)
    found = _as_scan(call, count) if count > MOST_UNROLLED else None
    return _unrolled(call, count) if found is None else found


def _as_scan(call: Call, count: int) -> list[Value] | None:
    """The loop as one in the IR; None if it is short, or unknown how long it is, or where its
    body needs the value of a counter."""
    carried = [call.value(n) for n in range(2, len(call.inputs))]
    goes_on: Value = call.value(1) if call.has(1) else np.array(True)
    if isinstance(goes_on, Tensor):
        return None
    known = counted(call, carried, goes_on, min(count, LONGEST), ends=count <= LONGEST)
    if known is None or known.count <= MOST_UNROLLED or _folds(call, carried):
        return None
    found = _repeated(call, carried, known)
    if found is None:
        return None
    last = {n: carried[n] for n in known.unchanged}
    last |= {n: values[-1] for n, values in known.counters.items()}
    computed = known.varying(len(carried))
    last |= zip(computed, found, strict=False)
    return [*(last[n] for n in range(len(carried))), *found[len(computed) :]]


def _folds(call: Call, carried: Sequence[Value]) -> bool:
    """Whether all results of an iteration are known now."""
    found = written(call, call.required("body"), [np.array(0), np.array(True), *carried])
    return found is not None and not any(isinstance(value, Tensor) for value in found)


def _repeated(call: Call, carried: Sequence[Value], known: Counted) -> list[Value] | None:
    """What the loop computes as it runs: the values that are not known, then what it collects."""
    numbers = sorted(known.counters)
    varying = known.varying(len(carried))

    def step(old: list[Tensor], row: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        now = list(carried)
        for n, value in [*zip(varying, old, strict=True), *zip(numbers, row[1:], strict=True)]:
            now[n] = value
        results = call.run(call.required("body"), [row[0], np.array(True), *now])
        new = [as_tensor(results[1 + n]) for n in varying]
        return new, [as_tensor(value) for value in results[1 + len(carried) :]]

    rows = [np.arange(known.count), *(known.counters[n][:-1] for n in numbers)]
    return attempted(call, step, [carried[n] for n in varying], rows)


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
    else:
        if count > LONGEST:
            raise Unsupported(f"a loop of more than {LONGEST} iterations")
    return [*carried, *(stack_of(column, 0) for column in collected)]


def _count(call: Call) -> int:
    count = max(int(call.static(0).reshape(-1)[0]), 0) if call.has(0) else LONGEST + 1
    if call.has(0) and not call.has(1) and count > LONGEST:
        raise Unsupported(f"a loop of {count} iterations, of which at most {LONGEST} are unrolled")
    return min(count, LONGEST + 1)


def _still(running: Tensor | None, goes_on: Tensor, count: int, *, collects: bool) -> Tensor:
    """Whether a loop whose condition is computed is still running; all its iterations are written.

    Raises ValueNeeded if they are too many, or where their number is a size of a result.
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
