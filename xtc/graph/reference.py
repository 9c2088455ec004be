# SPDX-License-Identifier: Apache-2.0
"""Evaluates a graph with NumPy, node by node: the reference for every target's results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.call import match_names
from xtc.core.errors import UserError
from xtc.core.types import TensorType
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor

if TYPE_CHECKING:
    from xtc.graph.graph import Graph
    from xtc.graph.node import Node


def evaluate_graph(
    graph: Graph, args: Sequence[Any], arrays: Mapping[str, Any], *, precise: bool
) -> dict[str, Array]:
    """Outputs by name; see `Graph.evaluate`."""
    outputs, _ = evaluate_step(graph, args, arrays, precise=precise)
    return outputs


def evaluate_step(
    graph: Graph, args: Sequence[Any], arrays: Mapping[str, Any], *, precise: bool
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Outputs and new states by name; states that are not given start at their initial value."""
    begun = {
        str(state.name): initial_value(state)
        for state, _ in graph.updates
        if len(args) < len(graph.inputs)
    }
    arrays = {**begun, **arrays}
    names = [str(tensor.name) for tensor in graph.inputs]
    given = match_names(f"graph '{graph.name}'", names, args, arrays)
    given = {name: _as_array(value, name) for name, value in given.items()}
    graph = graph.bind(_sizes_of_symbols(graph, given))
    values = _evaluated(graph, given, precise)
    outputs = {str(tensor.name): values[tensor] for tensor in graph.outputs}
    return outputs, {str(state.name): values[value] for state, value in graph.updates}


def evaluate_nodes(graph: Graph, arrays: Mapping[str, Any]) -> list[Array]:
    """The result of each node, in order, on arrays by input name. Raises UserError."""
    names = [str(tensor.name) for tensor in graph.inputs]
    given = match_names(f"graph '{graph.name}'", names, (), arrays)
    given = {name: _as_array(value, name) for name, value in given.items()}
    graph = graph.bind(_sizes_of_symbols(graph, given))
    values = _evaluated(graph, given, precise=False)
    return [values[node.output] for node in graph.nodes]


def _evaluated(graph: Graph, given: Mapping[str, Array], precise: bool) -> dict[Tensor, Array]:
    values: dict[Tensor, Array] = {
        tensor: _as_operand(checked_array(given[str(tensor.name)], tensor), tensor.type, precise)
        for tensor in graph.inputs
    }
    values |= {
        tensor: _as_operand(np.asarray(tensor.const), tensor.type, precise)
        for tensor in graph.constants
    }
    with np.errstate(all="ignore"):
        compute(graph.nodes, values, precise=precise)
    return values


def compute(nodes: Iterable[Node], values: dict[Tensor, Array], *, precise: bool) -> None:
    """Add the result of each node to `values`, which already has inputs and constants."""
    for node in nodes:
        result = node.op.reference(*(values[tensor] for tensor in node.inputs))
        values[node.output] = _as_operand(result, node.output.type, precise)


def initial_value(state: Tensor) -> Array:
    """The value of a state before the first call."""
    if state.initial is not None:
        return state.initial
    return np.zeros(state.type.sizes, state.element.numpy)


def _as_array(value: Any, name: str) -> Array:
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise UserError(f"input '{name}' is not an array", notes=[str(error)]) from None


def checked_array(array: Array, tensor: Tensor) -> Array:
    """`array` if it has the tensor's shape and element type. Raises UserError otherwise."""
    if array.dtype != tensor.element.numpy:
        raise UserError(
            f"input '{tensor.name}' is {tensor.dtype}, not {array.dtype}",
            hints=[f"convert it: array.astype({str(tensor.element.numpy)!r})"],
        )
    if array.shape != tensor.shape:
        raise UserError(
            f"input '{tensor.name}' has shape {tensor.shape}, not {array.shape}",
            notes=["nothing is broadcast or reshaped at a call"],
        )
    return array


def _sizes_of_symbols(graph: Graph, given: Mapping[str, Array]) -> dict[str, int]:
    """The sizes of symbolic dimensions, from the arrays' shapes."""
    sizes: dict[str, int] = {}
    for tensor in graph.inputs:
        shape = given[str(tensor.name)].shape
        if tensor.shape and isinstance(tensor.shape[0], str) and shape:
            sizes.setdefault(tensor.shape[0], int(shape[0]))
    return sizes


def _as_operand(array: Array, type: TensorType, precise: bool) -> Array:
    wanted = np.dtype(np.float64) if precise and type.element.is_float else type.element.numpy
    return np.asarray(array).astype(wanted, copy=False).reshape(type.sizes)
