# SPDX-License-Identifier: Apache-2.0
"""Copies nodes into another graph; tensors computed by other nodes become its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xtc.graph.node import Node
from xtc.graph.tensor import Tensor


def copied_nodes(nodes: Sequence[Node]) -> tuple[list[Node], dict[Tensor, Tensor]]:
    """Copies of nodes that read copies; a tensor that other nodes compute becomes an input.

    Returns the copies, and a mapping from each copied tensor to its copy.
    """
    copies: dict[Tensor, Tensor] = {}
    result = []
    for node in nodes:
        for tensor in node.inputs:
            if tensor.producer is not None and tensor not in copies:
                copies[tensor] = replace(tensor, producer=None)
        inputs = tuple(copies.get(tensor, tensor) for tensor in node.inputs)
        output = replace(node.output)
        copies[node.output] = output
        output.producer = replace(node, inputs=inputs, output=output)
        result.append(output.producer)
    return result, copies
