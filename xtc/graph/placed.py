# SPDX-License-Identifier: Apache-2.0
"""A graph moved to a device as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from xtc.graph.node import Node
from xtc.graph.placement import Placement
from xtc.graph.tensor import Tensor

if TYPE_CHECKING:
    from xtc.graph.graph import Graph


def is_placed(graph: Graph) -> bool:
    """Whether anything of `graph` is on a device."""
    tensors = [*graph.inputs, *graph.constants, *(node.output for node in graph.nodes)]
    all_placed = [
        *(tensor.placement for tensor in tensors),
        *(node.placement for node in graph.nodes),
    ]
    return any(placed is not None for placed in all_placed)


def placed_on(graph: Graph, placed: Placement) -> Graph:
    """The graph with every operator and constant on a device; arguments stay on the host."""
    moved: dict[Tensor, Tensor] = {tensor: tensor for tensor in graph.inputs}
    for tensor in graph.constants:
        moved[tensor] = replace(tensor, placement=None if tensor.is_scalar_constant else placed)
    for node in graph.nodes:
        output = replace(node.output)
        inputs = tuple(moved[tensor] for tensor in node.inputs)
        output.producer = Node(node.op, inputs, output, placed, node.where)
        moved[node.output] = output
    nodes = tuple(producer for node in graph.nodes if (producer := moved[node.output].producer))
    outputs = tuple(moved[tensor] for tensor in graph.outputs)
    updates = tuple((state, moved[value]) for state, value in graph.updates)
    return replace(graph, outputs=outputs, nodes=nodes, updates=updates)
