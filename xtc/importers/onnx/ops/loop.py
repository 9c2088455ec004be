# SPDX-License-Identifier: Apache-2.0
"""Loops: one loop of the IR if the trip count is known at import, unrolled otherwise."""

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

MOST_CHOSEN = 256  # trip count limit if the condition is computed, since all iterations run


@reads("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25, folds=False)
def loop(call: Call) -> list[Value]:
    count = _count(call)
    found = _as_scan(call, count) if count > MOST_UNROLLED else None
    return _unrolled(call, count) if found is None else found


def _as_scan(call: Call, count: int) -> list[Value] | None:
    """The loop as one in the IR; None if it is short or of unknown length, or if its body needs the
    value of a counter.
    """
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
    """Whether all results of an iteration are known at import."""
    found = written(call, call.required("body"), [np.array(0), np.array(True), *carried])
    return found is not None and not any(isinstance(value, Tensor) for value in found)


def _repeated(call: Call, carried: Sequence[Value], known: Counted) -> list[Value] | None:
    """The results of the loop in the IR: varying carried values, then collected values."""
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
    running: Tensor | None = None  # None while the condition is known at import
    for number in range(count):
        if isinstance(goes_on, Tensor):
            running = _still_running(running, goes_on, count, collects=bool(collected))
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
        raise Unsupported(f"a loop of {count} iterations; at most {LONGEST} are unrolled")
    return min(count, LONGEST + 1)


def _still_running(
    running: Tensor | None, goes_on: Tensor, count: int, *, collects: bool
) -> Tensor:
    """Whether a loop with a computed condition is still running; all its iterations are written.

    Raises ValueNeeded if there are too many, or if their number determines the size of a result.
    """
    if count > MOST_CHOSEN or collects:
        raise ValueNeeded(goes_on, "a loop whose trip count is known only at run time")
    now = O.reshape(goes_on, ())
    return now if running is None else O.minimum(running, now)


def _chosen(
    running: Tensor, new: Sequence[Value], old: Sequence[Value], goes_on: Value
) -> list[Value]:
    """The carried values after an iteration that may not be executed."""
    result: list[Value] = []
    for after, before in zip(new, old, strict=True):
        if (shape_of(after), dtype_of(after)) != (shape_of(before), dtype_of(before)):
            condition = goes_on if isinstance(goes_on, Tensor) else running
            raise ValueNeeded(condition, "a loop of unknown length with values of changing types")
        result.append(O.where(running, as_tensor(after), as_tensor(before)))
    return result
