# SPDX-License-Identifier: Apache-2.0
"""Sorts nodes topologically, which ONNX requires and some exporters neglect."""

from __future__ import annotations

from collections import defaultdict, deque

import onnx


def sort_nodes(graph: onnx.GraphProto) -> None:
    """Sort the nodes of the graph topologically, if they are not.

    Reads of enclosing values by subgraphs count. A graph with a cycle stays unchanged.
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
    """Topological order of the numbers; members of cycles are omitted."""
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
    """The names that a node reads, including reads in its subgraphs."""
    found = list(node.input)
    for graph in subgraphs(node):
        found += [name for each in graph.node for name in names_read(each)]
        found += [info.name for info in graph.output]
    return found


def subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The subgraphs among a node's attributes."""
    single = [entry.g for entry in node.attribute if entry.type == onnx.AttributeProto.GRAPH]
    return [*single, *(graph for entry in node.attribute for graph in entry.graphs)]
