# SPDX-License-Identifier: Apache-2.0
"""Turns collected nodes into a checked graph: inputs, outputs, names, nothing unused."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from xtc.core.errors import UserError, located
from xtc.core.location import SourceLocation
from xtc.graph.names import check_function_name
from xtc.graph.node import Node
from xtc.graph.states import Updates, check_states
from xtc.graph.tensor import Tensor


class FinishedGraph(NamedTuple):
    """The fields of a `Graph`, checked."""

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    updates: Updates


def finish_graph(
    name: str,
    where: SourceLocation | None,
    nodes: Sequence[Node],
    declared: Sequence[Tensor],
    inputs: Sequence[Tensor] | None,
    outputs: Sequence[Tensor] | None,
    updates: Mapping[Tensor, Tensor] | None = None,
) -> FinishedGraph:
    """The graph of `nodes`, in the order written. Raises UserError if it is invalid."""
    with located(where):
        check_function_name(name)
        if not nodes:
            raise UserError(f"graph '{name}' has no operator")
        used = dict.fromkeys(tensor for node in nodes for tensor in node.inputs)
        kept = dict(updates or {})
        known = {*used, *kept.values()}
        chosen_outputs = tuple(outputs) if outputs is not None else _unused_results(nodes, known)
        _check_outputs(chosen_outputs, nodes)
        _check_all_needed(nodes, (*chosen_outputs, *kept.values()))
        check_states(used, kept)
        chosen_inputs = _choose_inputs(used, inputs)
        _check_used([*declared, *(inputs or ())], used)
        named = _name_tensors([*chosen_inputs, *used, *(node.output for node in nodes)])
    for node in nodes:
        node.inputs = tuple(named[tensor] for tensor in node.inputs)
    return FinishedGraph(
        name,
        tuple(named[tensor] for tensor in chosen_inputs),
        chosen_outputs,
        tuple(nodes),
        tuple((named[state], value) for state, value in kept.items()),
    )


def _unused_results(nodes: Sequence[Node], used: Container[Tensor]) -> tuple[Tensor, ...]:
    return tuple(node.output for node in nodes if node.output not in used)


def _is_input(tensor: Tensor) -> bool:
    return tensor.producer is None and tensor.const is None


def _choose_inputs(used: Iterable[Tensor], inputs: Sequence[Tensor] | None) -> tuple[Tensor, ...]:
    """The inputs as given, else in the order of their declaration; states come last."""
    leaves = sorted(filter(_is_input, used), key=lambda tensor: tensor.number)
    needed = tuple(tensor for tensor in leaves if not tensor.state)
    states = tuple(tensor for tensor in leaves if tensor.state)
    if inputs is None:
        return (*needed, *states)
    for tensor in inputs:
        if not _is_input(tensor):
            raise UserError(
                f"{_label(tensor)} is not an input",
                where=tensor.where,
                notes=["an input has neither a producer nor a constant value"],
            )
    given = set(inputs)
    if len(given) != len(inputs):
        raise UserError("the inputs name a tensor twice")
    missing = [tensor for tensor in needed if tensor not in given]
    if missing:
        raise UserError(
            f"{_label(missing[0])} is used but not among the inputs", where=missing[0].where
        )
    return (*inputs, *(tensor for tensor in states if tensor not in given))


def _check_outputs(outputs: Sequence[Tensor], nodes: Sequence[Node]) -> None:
    if not outputs:
        raise UserError("the graph has no output")
    results = {node.output for node in nodes}
    for tensor in outputs:
        if tensor not in results:
            raise UserError(
                f"{_label(tensor)} is not computed by this graph, so it cannot be an output",
                where=tensor.where,
            )
    if len(set(outputs)) != len(outputs):
        raise UserError("the outputs name a tensor twice")


def _check_all_needed(nodes: Sequence[Node], outputs: Sequence[Tensor]) -> None:
    needed = set(outputs)
    for node in reversed(nodes):
        if node.output not in needed:
            raise UserError(
                f"the result of {node.op.name} is neither used nor an output",
                where=node.where,
                hints=["remove it, or make it an output"],
            )
        needed.update(node.inputs)


def _check_used(declared: Iterable[Tensor], used: Container[Tensor]) -> None:
    for tensor in declared:
        if tensor not in used:
            raise UserError(
                f"{_label(tensor)} is declared but never used",
                where=tensor.where,
                hints=["remove it, or use it"],
            )


def _name_tensors(tensors: Iterable[Tensor]) -> dict[Tensor, Tensor]:
    """Each tensor under a unique name: the user's name, or one generated in graph order.

    An unnamed input or constant is copied, because the user may use it in other graphs too.
    """
    all_tensors = list(dict.fromkeys(tensors))
    taken = _user_names(all_tensors)
    counts: dict[str, Iterator[int]] = {}
    named = {}
    for tensor in all_tensors:
        named[tensor] = tensor
        if tensor.name is None:
            stem = _name_without_number(tensor)
            numbers = counts.setdefault(stem, itertools.count())
            name = next(name for count in numbers if (name := f"{stem}{count}") not in taken)
            taken.add(name)
            if tensor.producer is None:
                named[tensor] = replace(tensor, name=name)
            else:
                tensor.name = name
    return named


def _user_names(tensors: Iterable[Tensor]) -> set[str]:
    taken: dict[str, Tensor] = {}
    for tensor in tensors:
        if tensor.name is None:
            continue
        other = taken.setdefault(tensor.name, tensor)
        if other is not tensor:
            raise UserError(
                f"two tensors are called '{tensor.name}'",
                where=tensor.where,
                notes=[f"the other one: {other.where}"],
            )
    return set(taken)


def _name_without_number(tensor: Tensor) -> str:
    """The generated name of a tensor without its number."""
    if tensor.producer is not None:
        return tensor.producer.op.name
    return "input" if tensor.const is None else "const"


def _label(tensor: Tensor) -> str:
    if tensor.name is not None:
        return f"tensor '{tensor.name}'"
    return f"the result of {tensor.producer.op.name}" if tensor.producer else "an unnamed tensor"
