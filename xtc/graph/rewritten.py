# SPDX-License-Identifier: Apache-2.0
"""Replaces tensors of a graph by constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor


def rewritten(graph: Graph, constants: Mapping[Tensor, Tensor]) -> Graph:
    """The graph with tensors replaced by constants.

    Dead nodes are dropped; the others are copied under the same names.
    """
    if not constants:
        return graph
    live = _live(graph, constants)
    known = dict(constants)
    nodes = []
    for node in graph.nodes:
        if node in live:
            output = replace(node.output)
            inputs = tuple(known.get(tensor, tensor) for tensor in node.inputs)
            output.producer = replace(node, inputs=inputs, output=output)
            known[node.output] = output
            nodes.append(output.producer)
    return replace(
        graph,
        nodes=tuple(nodes),
        outputs=tuple(known[tensor] for tensor in graph.outputs),
        updates=tuple((state, known[value]) for state, value in graph.updates),
    )


def _live(graph: Graph, constants: Mapping[Tensor, Tensor]) -> set[Node]:
    """The nodes whose results are used or are outputs."""

    def needed() -> Iterator[Node]:
        read = {*graph.outputs, *(value for _, value in graph.updates)}
        for node in reversed(graph.nodes):
            if node.output in read and node.output not in constants:
                read.update(node.inputs)
                yield node

    return set(needed())
