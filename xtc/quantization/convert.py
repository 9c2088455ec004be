# SPDX-License-Identifier: Apache-2.0
"""Rewrites a float32 graph, with each operator in int8 if it has an int8 form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import xtc.ops as O
from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.quantization.chains import chains_of
from xtc.quantization.ranges import Range, fitting
from xtc.quantization.rules import RULES
from xtc.quantization.writer import Writer


@dataclass(frozen=True)
class Converted:
    """The new graph.

    Attributes:
        results: the new tensor for each result of the old graph, and its quantization.
        inputs: quantizations of inputs by name.
    """

    graph: Graph
    results: Mapping[Tensor, tuple[Tensor, O.Quantization | None]]
    inputs: Mapping[str, O.Quantization]


def converted(graph: Graph, ranges: Mapping[Tensor, Range], int8_io: bool) -> Converted:
    """The graph in int8. Raises UserError if it has states."""
    if graph.updates:
        raise UserError(f"graph '{graph.name}' has states", notes=["they are not quantized"])
    with O.graph(name=graph.name) as builder:
        writer = Writer(builder, ranges, {c.result: c for c in chains_of(graph)})
        inputs = [_input(writer, tensor, int8_io) for tensor in graph.inputs]
        covered = {node for chain in writer.chains.values() for node in chain.nodes[:-1]}
        for node in graph.nodes:
            if node in covered:
                continue  # written with the last of its chain
            rule = RULES.get(_first(writer, node).op.name)
            if rule is None or not rule(writer, node):
                writer.plain(node)
            writer.keep(node.output)
        outputs = [_output(writer, tensor, int8_io) for tensor in graph.outputs]
        builder.inputs = tuple(inputs)
        O.outputs(*outputs)
    known = {str(x.name): writer.quantization(x) for x in graph.inputs if writer.can(x)}
    return Converted(builder.graph, writer.results, known)


def _first(writer: Writer, node: Node) -> Node:
    chain = writer.chains.get(node.output)
    return node if chain is None else chain.nodes[0]


def _input(writer: Writer, tensor: Tensor, int8_io: bool) -> Tensor:
    is_int8 = int8_io and writer.can(tensor)
    found = O.tensor(tensor.shape, "int8" if is_int8 else tensor.dtype, name=tensor.name)
    if is_int8:
        writer.whole[tensor] = found, fitting(writer.ranges[tensor])
    else:
        writer.real[tensor] = found
    return found


def _free(writer: Writer, tensor: Tensor) -> None:
    """Frees the name of an output that another tensor has, such as its int8 form."""
    for found in (writer.whole.get(tensor, (None,))[0], writer.real.get(tensor)):
        if found is not None and found.name == tensor.name and found.producer is not None:
            found.name = None


def _output(writer: Writer, tensor: Tensor, int8_io: bool) -> Tensor:
    found = writer.int8(tensor) if int8_io and writer.can(tensor) else writer.float32(tensor)
    if found.producer is None or tensor in writer.inner:
        found = O.reshape(found, tuple(-1 if isinstance(d, str) else d for d in found.shape))
    _free(writer, tensor)
    found.name = tensor.name
    writer.inner.add(tensor)
    return found
