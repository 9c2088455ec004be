# SPDX-License-Identifier: Apache-2.0
"""scan: a body of operators applied to each row of its operands and a carried state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.body import Write, body_graph
from xtc.graph.builder import apply
from xtc.graph.graph import Graph
from xtc.graph.operator import Array, Operator
from xtc.graph.reference import compute
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value
from xtc.ops.attributes import check_flag, check_int, operand_type, user_function


@dataclass(frozen=True)
class Scan(Operator):
    """A state that `body` updates from each row of some operands; the result has all states.

    Operands are the initial state, then `rows` tensors of which each iteration reads one row, then
    tensors that each iteration reads whole. The body is a graph as lines of YAML, with inputs in
    the same order. The iterations are one loop in the IR, regardless of their number; on a
    device they are unrolled.
    """

    name: ClassVar[str] = "scan"
    body: tuple[str, ...]
    count: int
    rows: int = 1
    reverse: bool = False

    def infer(self, *inputs: TensorType) -> TensorType:
        rows = check_int(self.name, "rows", self.rows, minimum=0)
        count = check_int(self.name, "count", self.count, minimum=1)
        check_flag(self.name, "reverse", self.reverse)
        if not inputs:
            raise UserError("scan takes a state")
        state, *others = inputs
        if others[:rows] and _count(others[:rows]) != count:
            raise UserError(f"scan runs {count} times, but is given {_listed(others[:rows])}")
        given = [state, *(_row(type) for type in others[:rows]), *others[rows:]]
        body = _graph(self.body)
        wanted = [tensor.type for tensor in body.inputs]
        if given != wanted or [tensor.type for tensor in body.outputs] != [state]:
            raise UserError(
                f"the body of scan takes {_listed(wanted)} and computes "
                f"{_listed([tensor.type for tensor in body.outputs])}",
                notes=[f"it is given {_listed(given)}, and updates the first of these"],
            )
        return state.with_shape((count + 1, *state.shape))

    def reference(self, *arrays: Array) -> Array:
        state, *others = arrays
        body = _graph(self.body)
        precise = any(
            tensor.element.is_float and array.dtype != tensor.element.numpy
            for tensor, array in zip(body.inputs, [state, *others], strict=True)
        )
        count = self.count
        result = np.empty((count + 1, *state.shape), state.dtype)
        result[count if self.reverse else 0] = state
        for time in reversed(range(count)) if self.reverse else range(count):
            given = [state, *(rows[time] for rows in others[: self.rows]), *others[self.rows :]]
            state = _step(body, given, precise)
            result[time if self.reverse else time + 1] = state
        return result

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        state, *others = inputs
        body, count = _graph(self.body), self.count
        start = str(count if self.reverse else 0)
        states = builder.with_row(state, builder.empty(result, own=True), start)

        def iteration(number: str, current: Value) -> Value:
            time = builder.offset(number, count - 1, minus=True) if self.reverse else number
            after = builder.offset(time, 1)
            before, now = (after, time) if self.reverse else (time, after)
            rows = [builder.row(value, time) for value in others[: self.rows]]
            given = [builder.row(current, before), *rows, *others[self.rows :]]
            return builder.with_row(_emitted(builder, body, given), current, now)

        if builder.device is None:
            return builder.repeat(count, states, iteration)
        for number in range(count):  # device kernels take buffers, not iteration indices
            states = iteration(str(number), states)
        return states

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()

    def flops(self, *inputs: TensorType) -> int:
        return self.count * _graph(self.body).flops

    def reduction_size(self, *inputs: TensorType) -> int:
        return self.count * _graph(self.body).reduction_size


@user_function
def scan(
    write: Write,
    initial: Tensor,
    *rows: Tensor,
    reverse: bool = False,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The successive states of `write(state, *row)`, beginning with `initial`.

    `write` is called once to build the body of an iteration, which reads one row of each of `rows`:
    the part at one index of the first dimension. It returns the next state, of the type of
    `initial`, and may read other tensors of the graph.

    The result has `initial`, then the states after each iteration, along a new first dimension;
    with `reverse` the last row is read first, and `initial` comes last. The
    iterations are one loop in the IR, so that compile time does not depend on the number of rows.

    Raises UserError if rows differ in number, or the body does not fit.
    """
    types = [operand_type("scan", x) for x in (initial, *rows)]
    count = _count(types[1:])
    body, used, outside = body_graph(write, [types[0], *map(_row, types[1:])])
    if 0 not in used:
        raise UserError("the body of scan does not read its state")
    read = [rows[number - 1] for number in used[1:]]
    lines = tuple(body.to_yaml().splitlines())
    op = Scan(lines, count, len(read), check_flag("scan", "reverse", reverse))
    return apply(op, initial, *read, *outside, name=name, device=device)


@lru_cache(maxsize=256)
def _graph(lines: tuple[str, ...]) -> Graph:
    """The body. Raises UserError for invalid lines."""
    return Graph.from_yaml("\n".join(map(str, lines)), "the body of scan")


def _count(rows: Sequence[TensorType]) -> int:
    """The number of rows. Raises UserError if it differs between operands."""
    counts = {type.sizes[0] if type.rank else 0 for type in rows}
    if len(counts) != 1 or counts == {0}:
        raise UserError(
            "the operands of scan have no rows, or different numbers of rows",
            notes=[f"they are {_listed(rows)}"],
        )
    return int(counts.pop())


def _row(type: TensorType) -> TensorType:
    return type.with_shape(type.shape[1:])


def _listed(types: Sequence[TensorType]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def _step(body: Graph, given: Sequence[Array], precise: bool) -> Array:
    values = dict(zip(body.inputs, given, strict=True))
    for tensor in body.constants:
        values[tensor] = np.asarray(tensor.const)
    compute(body.nodes, values, precise=precise)
    return values[body.outputs[0]]


def _emitted(builder: LinalgBuilder, body: Graph, given: Sequence[Value]) -> Value:
    """Emit the body's nodes, as steps of the current node."""
    values = dict(zip(body.inputs, given, strict=True))
    for tensor in body.constants:
        values[tensor] = builder.splat(np.asarray(tensor.const).item(), tensor.type)
    with builder.inner() as step:
        for node in body.nodes:
            step(node.name)
            operands = [values[tensor] for tensor in node.inputs]
            values[node.output] = node.op.emit(builder, operands, node.output.type)
    return values[body.outputs[0]]
