# SPDX-License-Identifier: Apache-2.0
"""Fixes symbolic dimensions: copies the graph and infers every type again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from xtc.core.errors import UserError, did_you_mean, located
from xtc.core.location import SourceLocation
from xtc.core.types import TensorType, tensor_type
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor

if TYPE_CHECKING:
    from xtc.graph.graph import Graph


def bind_graph(graph: Graph, dims: Mapping[str, int]) -> Graph:
    """`graph` with the dimensions in `dims` fixed. Raises UserError for a bad name or size."""
    for name, size in dims.items():
        if name not in graph.symbols:
            raise UserError(
                f"graph '{graph.name}' has no symbolic dimension '{name}'",
                hints=did_you_mean(name, graph.symbols),
            )
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
            raise UserError(
                f"dimension '{name}' of graph '{graph.name}' cannot be {size!r}",
                notes=["every size is 1 or more"],
            )
    if not dims:
        return graph
    dims = {name: int(size) for name, size in dims.items()}
    bound: dict[Tensor, Tensor] = {}
    nodes = tuple(_bind_node(node, dims, bound) for node in graph.nodes)
    return replace(
        graph,
        inputs=tuple(_bind_leaf(tensor, dims, bound) for tensor in graph.inputs),
        outputs=tuple(bound[tensor] for tensor in graph.outputs),
        nodes=nodes,
        updates=tuple(
            (_bind_leaf(state, dims, bound), bound[value]) for state, value in graph.updates
        ),
    )


def _bind_leaf(tensor: Tensor, dims: Mapping[str, int], bound: dict[Tensor, Tensor]) -> Tensor:
    if tensor not in bound:
        bound[tensor] = replace(tensor, type=_checked(tensor.type.bind(dims), tensor.where))
    return bound[tensor]


def _bind_node(node: Node, dims: Mapping[str, int], bound: dict[Tensor, Tensor]) -> Node:
    inputs = tuple(_bind_leaf(tensor, dims, bound) for tensor in node.inputs)
    with located(node.where):
        type = node.op.infer(*(tensor.type for tensor in inputs))
    output = replace(node.output, type=_checked(type, node.where))
    result = replace(node, inputs=inputs, output=output)
    output.producer = result
    bound[node.output] = output
    return result


def _checked(type: TensorType, where: SourceLocation | None) -> TensorType:
    with located(where):
        return tensor_type(type.shape, type.element.name)
