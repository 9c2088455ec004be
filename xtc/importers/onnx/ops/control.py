# SPDX-License-Identifier: Apache-2.0
"""Branches, which are folded or both computed, and scans."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import moved_axis, part
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.iterations import LONGEST, MOST_UNROLLED, attempted, stack_of
from xtc.importers.onnx.table import reads
from xtc.importers.values import (
    Unsupported,
    Value,
    ValueNeeded,
    as_tensor,
    dtype_of,
    shape_of,
)


@reads("If", 1, 11, 13, 16, 19, 21, 23, 24, 25, folds=False)
def if_(call: Call) -> list[Value]:
    condition = call.value(0)
    branches = call.required("then_branch"), call.required("else_branch")
    if not isinstance(condition, Tensor):
        return call.run(branches[0 if condition.reshape(-1)[0] else 1], [])
    # Operators have no side effects, so compute both branches and select the results.
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
    """The scanned operands, in the order of their rows."""
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
    """The scan as one loop in the IR; None if its body needs a value at import."""

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
    return [*carried, *(stack_of(column, 0) for column in collected)]


def _list(call: Call, name: str, count: int) -> list[int]:
    return [int(value) for value in call.attribute(name, [0] * count)]


def _slice(x: Tensor, axis: int, number: int) -> Tensor:
    sizes = x.type.sizes
    return O.reshape(part(x, axis, number, number + 1), (*sizes[:axis], *sizes[axis + 1 :]))


def _along(stack: Value, axis: int, *, turned: bool) -> Value:
    """Stacked results in the requested order and dimension."""
    x = as_tensor(stack)
    return moved_axis(O.flip(x, axes=(0,)) if turned else x, 0, axis % x.type.rank)


@reads("Scan", 8, folds=False)
def scan_batched(call: Call) -> list[Value]:
    raise Unsupported("scans over batches of sequences of different lengths")
