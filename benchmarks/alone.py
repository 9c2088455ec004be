# SPDX-License-Identifier: Apache-2.0
"""The times of a network's operators in the network and alone, with hot and with cold caches.

`make bench-alone ARGS=resnet50`. An operator that is called repeatedly finds its weights and arrays
in a cache; in a network, the data of all other operators has passed through the cache in between.
Operators of one class run the same function. Each class is compiled once, alone with the operators
fused into it, and its time is that of its kernels, not of its call.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from rich.table import Table

import xtc
from benchmarks.console import wide_console
from benchmarks.harness import machine_facts
from benchmarks.networks import NETWORKS
from xtc.evaluate.profile import OperatorTime
from xtc.graph.finish import finish_graph
from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor

Array = np.ndarray[Any, Any]

_KEPT = 25
"""The percentile of the calls' times that is used: other load only makes calls longer."""
_FLUSHED = 128 << 20
"""Bytes that are read before a cold call: four times the largest cache of a core."""


@dataclass(frozen=True)
class Alone:
    """A class of operators: their number in a network, and the seconds of one of them.

    Attributes:
        network: in the network, the mean of the class.
        hot: when called repeatedly.
        cold: when called after other data filled the caches.
    """

    label: str
    count: int
    flops: int
    network: float
    hot: float
    cold: float


def classes_of(operators: Sequence[OperatorTime]) -> list[list[OperatorTime]]:
    """The operators of each function, the most expensive classes first."""
    found: dict[tuple[str, ...], list[OperatorTime]] = {}
    for operator in operators:
        found.setdefault(operator.kernels, []).append(operator)
    return sorted(found.values(), key=lambda same: -sum(operator.seconds for operator in same))


def graph_of(graph: Graph, names: Sequence[str]) -> Graph:
    """The graph of some nodes; results of other nodes become inputs."""
    nodes = [node for node in graph.nodes if node.name in names]
    made: dict[Tensor, Tensor] = {}
    written = []
    for node in nodes:
        for tensor in node.inputs:
            if tensor.const is not None:
                made[tensor] = tensor
            made.setdefault(tensor, Tensor(tensor.name, tensor.type))
        output = Tensor(node.name, node.output.type)
        output.producer = Node(node.op, tuple(made[x] for x in node.inputs), output)
        made[node.output] = output
        written.append(output.producer)
    within = {tensor for node in nodes for tensor in node.inputs}
    outputs = [made[node.output] for node in nodes if node.output not in within]
    return Graph(*finish_graph("alone", None, written, [], None, outputs))


@contextmanager
def recorded(graph: Graph) -> Iterator[tuple[Any, Callable[[], Array]]]:
    """A program that records its kernels, and a call that returns their seconds."""
    rng = np.random.default_rng(0)
    with xtc.compile(graph, threads=1, profile=True) as module:
        arguments: list[Array] = [
            rng.standard_normal(a.shape, np.float32).astype(a.dtype)
            for a in module.artifact.manifest.arguments
        ]
        recorder: Any = module.host.load(module.artifact)
        call = recorder.bind([array.ctypes.data for array in arguments])

        def timed() -> Array:
            call()
            return np.diff(np.array(recorder.stamps())) / 1e9

        try:
            timed()
            yield recorder, timed
        finally:
            module.host.unload(recorder)


def seconds_alone(graph: Graph, repeat: int, flushed: Array) -> tuple[float, float]:
    """Seconds of a call after another call, and of a call after reading `flushed`."""
    hot, cold = [], []
    with recorded(graph) as (_, call):
        for _ in range(repeat):
            call()
            hot.append(call().sum())
            flushed.sum()
            cold.append(call().sum())
    return float(np.percentile(hot, _KEPT)), float(np.percentile(cold, _KEPT))


def seconds_by_node(graph: Graph, repeat: int) -> dict[str, float]:
    """Seconds of each operator's kernels in a call of the network, by node."""
    with recorded(graph) as (recorder, call):
        times = np.percentile([call() for _ in range(repeat)], _KEPT, axis=0)
        found: dict[str, float] = {}
        for kernel, seconds in zip(recorder.kernels, times, strict=True):
            found[kernel.node] = found.get(kernel.node, 0.0) + float(seconds)
    return found


def measured(graph: Graph, repeat: int) -> list[Alone]:
    """The classes of a network's operators, the most expensive first."""
    with xtc.compile(graph, threads=1) as module:
        operators = module.profile(repeat=1).operators
    network = seconds_by_node(graph, repeat)
    flushed = np.ones(_FLUSHED // 4, np.float32)
    found = []
    for same in classes_of(operators):
        first = same[0]
        part = graph_of(graph, first.nodes)
        total = sum(network.get(node, 0.0) for operator in same for node in operator.nodes)
        hot, cold = seconds_alone(part, repeat, flushed)
        found.append(Alone(_label(part), len(same), first.flops, total / len(same), hot, cold))
    return sorted(found, key=lambda row: -row.network * row.count)


def _label(graph: Graph) -> str:
    """The operator and the shapes of its operands."""
    main = max(graph.nodes, key=lambda node: node.flops)
    shapes = ["x".join(map(str, tensor.type.sizes)) for tensor in main.inputs[:2]]
    stride = getattr(main.op, "stride", (1, 1))
    return " ".join([main.op.name, *shapes, *(["stride 2"] if max(stride) > 1 else [])])


def show(rows: Sequence[Alone]) -> None:
    """Print the classes and their total, in milliseconds of all operators of a class."""
    table = Table(
        "class", "operators", "in the network: ms", "alone, cold", "alone, hot", "GFLOP/s"
    )
    for row in [*rows, _sum(rows)]:
        times = (row.network, row.cold, row.hot)
        table.add_row(
            row.label,
            str(row.count),
            *(f"{time * row.count * 1e3:.2f}" for time in times),
            f"{row.flops / row.network / 1e9:.0f}",
        )
    wide_console().print(table)


def _sum(rows: Sequence[Alone]) -> Alone:
    """All classes as one operator."""
    total = [
        sum(getattr(row, field) * row.count for row in rows)
        for field in ("flops", "network", "hot", "cold")
    ]
    flops, network, hot, cold = total
    return Alone("in all", 1, int(flops), network, hot, cold)


def main() -> None:
    """Entry point of `make bench-alone`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--repeat", type=int, default=20, help="calls of each (default: 20)")
    parser.add_argument("--small", action="store_true", help="the network at a test's sizes")
    args = parser.parse_args()
    print(machine_facts())
    show(measured(NETWORKS[args.network](args.small), args.repeat))


if __name__ == "__main__":
    main()
