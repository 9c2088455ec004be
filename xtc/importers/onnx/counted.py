# SPDX-License-Identifier: Apache-2.0
"""Static analysis of loops: trip count, counters, and loop-invariant values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import onnx

from xtc.core.errors import UserError
from xtc.graph.body import traced
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.sort_nodes import names_read
from xtc.importers.values import Array, Unsupported, Value

_MOST_ELEMENTS = 1024  # of a counter


@dataclass(frozen=True)
class Counted:
    """A loop with a known trip count; `unchanged` and `counters` index the carried values.

    Attributes:
        count: the trip count.
        unchanged: positions of the loop-invariant values.
        counters: values before each iteration and after the last one, stacked.
    """

    count: int
    unchanged: frozenset[int]
    counters: Mapping[int, Array]

    def varying(self, carried: int) -> list[int]:
        """The positions of the other values among `carried` carried ones."""
        return [n for n in range(carried) if n not in self.unchanged and n not in self.counters]


def counted(
    call: Call, carried: Sequence[Value], goes_on: Array, limit: int, *, ends: bool
) -> Counted | None:
    """Analyze a Loop; None if its trip count is unknown.

    `ends`: the loop ends after `limit` iterations whatever its condition is. The condition and the
    counters are evaluated by the part of the body that they depend on. Raises Unsupported if the
    loop is longer.
    """
    body = _Body(call.required("body"))
    fixed = frozenset(n for n in range(len(carried)) if body.passes_on(2 + n, 1 + n))
    numbers = {n for n, value in enumerate(carried) if n not in fixed and _is_small(value)}
    while True:
        _drop_dependent(body, numbers, carried, fixed)
        if body.passes_on(1, 0) and not numbers and ends:
            return Counted(limit if goes_on.reshape(-1)[0] else 0, fixed, {})
        part = body.part([0, *(1 + n for n in sorted(numbers))])
        first = written(call, part, [np.array(0), goes_on, *carried])
        if first is None or isinstance(first[0], Tensor):
            return None
        computed = {n for n, x in zip(sorted(numbers), first[1:], strict=True) if _is_small(x)}
        if computed == numbers:
            break
        numbers = computed
    return _counts(call, part, carried, goes_on, sorted(numbers), fixed, limit, ends=ends)


def written(call: Call, body: onnx.GraphProto, operands: Sequence[Value]) -> list[Value] | None:
    """The results of one iteration, whose nodes are discarded; None if it cannot be written."""
    found: list[Value] = []

    def write() -> list[Tensor]:
        found.extend(call.run(body, operands))
        return []

    with suppress(Unsupported, UserError), call.trial():
        traced(write, [])
    return found or None


def _is_small(value: Value) -> bool:
    return not isinstance(value, Tensor) and value.size <= _MOST_ELEMENTS


def _drop_dependent(
    body: _Body, numbers: set[int], carried: Sequence[Value], fixed: Collection[int]
) -> None:
    """Remove candidate counters that depend on unknown values."""
    while True:
        known = {n for n in fixed if not isinstance(carried[n], Tensor)} | numbers
        foreign = {body.graph.input[2 + n].name for n in range(len(carried)) if n not in known}
        dependent = {n for n in numbers if body.needs([1 + n]) & foreign}
        if not dependent:
            return
        numbers -= dependent


def _counts(
    call: Call,
    part: onnx.GraphProto,
    carried: Sequence[Value],
    goes_on: Array,
    numbers: Sequence[int],
    fixed: frozenset[int],
    limit: int,
    *,
    ends: bool,
) -> Counted | None:
    """Evaluate the condition and the counters until the loop ends."""
    now = list(carried)
    rows: dict[int, list[Array]] = {n: [np.asarray(now[n])] for n in numbers}
    count = 0
    while goes_on.reshape(-1)[0] and count < limit:
        found = written(call, part, [np.array(count), goes_on, *now])
        if found is None or any(isinstance(value, Tensor) for value in found):
            return None
        goes_on = np.asarray(found[0])
        for n, value in zip(numbers, found[1:], strict=True):
            now[n] = value
            rows[n].append(np.asarray(value))
        count += 1
    if goes_on.reshape(-1)[0] and not ends:
        raise Unsupported(f"a loop of more than {limit} iterations")
    if any(len({value.shape for value in column}) != 1 for column in rows.values()):
        return None
    return Counted(count, fixed, {n: np.stack(column) for n, column in rows.items()})


@dataclass(frozen=True)
class _Body:
    """The body of a loop, with the dependences between its values."""

    graph: onnx.GraphProto

    @property
    def _producers(self) -> dict[str, onnx.NodeProto]:
        return {name: node for node in self.graph.node for name in node.output if name}

    def passes_on(self, operand: int, result: int) -> bool:
        """Whether a result is an operand, unchanged."""
        producers, name = self._producers, self.graph.output[result].name
        while name in producers and producers[name].op_type == "Identity":
            name = producers[name].input[0]
        return bool(name == self.graph.input[operand].name)

    def needs(self, results: Iterable[int]) -> set[str]:
        """The names that results depend on, including their own."""
        producers = self._producers
        waiting = [self.graph.output[n].name for n in results]
        found: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name and name not in found:
                found.add(name)
                waiting += names_read(producers[name]) if name in producers else []
        return found

    def part(self, results: Sequence[int]) -> onnx.GraphProto:
        """The body restricted to some results and the nodes that they depend on."""
        needed = self.needs(results)
        graph = onnx.GraphProto(name=self.graph.name)
        graph.input.extend(self.graph.input)
        graph.output.extend(self.graph.output[n] for n in results)
        graph.node.extend(n for n in self.graph.node if needed.intersection(n.output))
        graph.initializer.extend(c for c in self.graph.initializer if c.name in needed)
        return graph
