# SPDX-License-Identifier: Apache-2.0
"""Computes the times of a graph's operators from those of kernels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from xtc.evaluate.profile import OperatorTime

if TYPE_CHECKING:
    from xtc.graph.graph import Graph
    from xtc.graph.node import Node


def fused_nodes(graph: Graph, kernels: Mapping[str, Collection[str]]) -> dict[str, list[Node]]:
    """The nodes that each operator computes: those of its kernels, and those fused into it.

    A node that no kernel names belongs to the reader of its result or, if no reader has a kernel,
    to the producer of its operands.
    """
    home = {node: name for name, nodes in kernels.items() for node in (*nodes, name)}
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for tensor in node.inputs:
            if tensor.producer is not None:
                readers.setdefault(tensor.producer.name, []).append(node)
    for node in reversed(graph.nodes):
        own = [home[reader.name] for reader in readers.get(node.name, []) if reader.name in home]
        if own:
            home.setdefault(node.name, own[-1])
    members: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if node.name not in home:
            before = [t.producer.name for t in node.inputs if t.producer is not None]
            found = [home[name] for name in before if name in home]
            if found:
                home[node.name] = found[-1]
        if node.name in home:
            members.setdefault(home[node.name], []).append(node)
    return members


def operator_time(
    graph: Graph,
    nodes: Sequence[Node],
    name: str,
    kernels: Sequence[str],
    seconds: float,
    schedules: Mapping[str, str],
    executed: int | None = None,
) -> OperatorTime:
    """The record of an operator that computes `nodes`; each array is read and written once."""
    results = {node.output for node in nodes}
    outside = {t for node in nodes for t in node.inputs if t not in results}
    read_later = {t for node in graph.nodes if node not in nodes for t in node.inputs}
    written = {t for t in results if t in read_later or t in graph.outputs}
    return OperatorTime(
        name,
        tuple(node.op.name for node in nodes) or (name,),
        tuple(dict.fromkeys(kernels)),
        seconds,
        sum(node.flops for node in nodes),
        sum(tensor.type.nbytes for tensor in outside | written),
        tuple(f"{n.name}: {schedules[n.name]}" for n in nodes if n.name in schedules),
        executed,
        tuple(dict.fromkeys(node.where.name for node in nodes if node.where and node.where.name)),
        tuple(node.name for node in nodes),
    )


def main_type(graph: Graph) -> str:
    """The element type of most of a graph's arithmetic."""
    flops: dict[str, int] = {}
    for node in graph.nodes:
        if node.inputs:
            dtype = node.inputs[0].dtype
            flops[dtype] = flops.get(dtype, 0) + node.flops
    return max(flops, key=lambda dtype: flops[dtype], default=graph.outputs[0].dtype)
