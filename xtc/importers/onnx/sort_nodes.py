# SPDX-License-Identifier: Apache-2.0
"""The order of nodes: each behind what it reads, as ONNX's rules want it and some tools do not."""

from __future__ import annotations

from collections import defaultdict, deque

import onnx


def sort_nodes(graph: onnx.GraphProto) -> None:
    """Put nodes of the graph behind those whose results they read, where they are not.

    What subgraphs read of the values around them counts. A graph with a cycle stays as it is.
    """
    nodes = list(graph.node)
    producers = {name: n for n, node in enumerate(nodes) for name in node.output if name}
    reads = [{producers[name] for name in names_read(node) if name in producers} for node in nodes]
    if all(number > source for number, sources in enumerate(reads) for source in sources):
        return
    order = _sorted(reads)
    if len(order) == len(nodes):
        copies = [onnx.NodeProto.FromString(nodes[n].SerializeToString()) for n in order]
        del graph.node[:]
        graph.node.extend(copies)


def _sorted(reads: list[set[int]]) -> list[int]:
    """Numbers behind those that they read, otherwise as they are; those of cycles are left out."""
    readers: dict[int, list[int]] = defaultdict(list)
    for number, sources in enumerate(reads):
        for source in sources:
            readers[source].append(number)
    waiting = [len(sources) for sources in reads]
    ready = deque(number for number, count in enumerate(waiting) if not count)
    order = []
    while ready:
        order.append(ready.popleft())
        for reader in readers[order[-1]]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return order


def names_read(node: onnx.NodeProto) -> list[str]:
    """The names that a node reads, in its subgraphs too."""
    found = list(node.input)
    for graph in subgraphs(node):
        found += [name for each in graph.node for name in names_read(each)]
        found += [info.name for info in graph.output]
    return found


def subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The graphs among a node's attributes."""
    single = [entry.g for entry in node.attribute if entry.type == onnx.AttributeProto.GRAPH]
    return [*single, *(graph for entry in node.attribute for graph in entry.graphs)]
