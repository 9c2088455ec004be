# SPDX-License-Identifier: Apache-2.0
"""The body of a repetition: a separate graph, and the tensors that it captures from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xtc.core.errors import UserError
from xtc.core.location import user_location
from xtc.core.types import TensorType
from xtc.graph.builder import GraphBuilder
from xtc.graph.finish import finish_graph
from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor

Write = Callable[..., Tensor]


def body_graph(
    write: Write, types: Sequence[TensorType]
) -> tuple[Graph, list[int], tuple[Tensor, ...]]:
    """The graph that `write` builds on tensors of `types`, with the numbers of those it reads.

    The third result has the captured tensors: results of other operators, inputs, and constants of
    more than one element. They follow the tensors that are read among the graph's inputs. Raises
    UserError if nothing is computed; errors of `write` pass through.
    """
    builder = GraphBuilder("body", user_location(), captures=True)
    given = [Tensor(None, type) for type in types]
    with builder:
        result = write(*given)
        nodes = _needed(builder.nodes, result)
    if builder.calls:
        raise UserError("a repeated body reads a tensor whose type is not known yet")
    inside = {node.output for node in nodes}
    used = dict.fromkeys(tensor for node in nodes for tensor in node.inputs)
    outside = [
        tensor
        for tensor in used
        if tensor not in inside and tensor not in given and not tensor.is_scalar_constant
    ]
    copies = {tensor: Tensor(None, tensor.type) for tensor in outside}
    copied = _copied(nodes, copies)
    read = [number for number, tensor in enumerate(given) if tensor in used]
    inputs = [*(given[number] for number in read), *(copies[tensor] for tensor in outside)]
    finished = finish_graph("body", builder.where, copied, [], inputs, [copies.get(result, result)])
    return Graph(*finished), read, tuple(outside)


def traced(write: Callable[..., Sequence[Tensor]], types: Sequence[TensorType]) -> list[TensorType]:
    """The types of the results of `write` on tensors of `types`; its operators are discarded."""
    with GraphBuilder("body", user_location(), captures=True):
        return [tensor.type for tensor in write(*(Tensor(None, type) for type in types))]


def _needed(nodes: Sequence[Node], result: Tensor) -> list[Node]:
    """The nodes on which the result depends."""
    needed = {result}
    kept = []
    for node in reversed(nodes):
        if node.output in needed:
            needed.update(node.inputs)
            kept.append(node)
    return kept[::-1]


def _copied(nodes: Sequence[Node], copies: dict[Tensor, Tensor]) -> list[Node]:
    """Copies of nodes on copied operands, under generated names."""
    producers = []
    for node in nodes:
        inputs = tuple(copies.get(tensor, tensor) for tensor in node.inputs)
        output = replace(node.output, name=None, placement=None)
        copies[node.output] = output
        output.producer = replace(node, inputs=inputs, output=output, placement=None)
        producers.append(output.producer)
    return producers
