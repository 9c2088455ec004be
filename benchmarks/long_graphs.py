# SPDX-License-Identifier: Apache-2.0
"""CPU time of a compilation per node, for graphs of doubling numbers of nodes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.table import Table

import xtc
import xtc.ops as O
from benchmarks.console import wide_console
from xtc.graph.tensor import Tensor

_ROWS, _COLUMNS = 16, 32


def _weights(name: str) -> Tensor:
    values = np.random.default_rng(0).standard_normal((_COLUMNS, _COLUMNS))
    return O.tensor(values.shape, const=values.astype(np.float32), name=name)


def recurrent(steps: int) -> xtc.Graph:
    """A recurrent layer, unrolled."""
    inputs = [O.tensor((1, _COLUMNS), name=f"x{step}") for step in range(steps)]
    w, u = _weights("w"), _weights("u")
    with O.graph(name="recurrent") as builder:
        state = O.tanh(O.matmul(inputs[0], w))
        for x in inputs[1:]:
            state = O.tanh(O.add(O.matmul(x, w), O.matmul(state, u)))
    return builder.graph


def chain(length: int) -> xtc.Graph:
    """Elementwise operators and softmaxes in a row."""
    value = x = O.tensor((_ROWS, _COLUMNS), name="x")
    with O.graph(name="chain") as builder:
        for _ in range(length // 4):
            value = O.softmax(O.relu(O.exp(O.add(value, x))))
    return builder.graph


def wide(branches: int) -> xtc.Graph:
    """Independent branches, each with a result."""
    x = O.tensor((_ROWS, _COLUMNS), name="x")
    rows = np.random.default_rng(0).standard_normal((branches, 1, _COLUMNS)).astype(np.float32)
    with O.graph(name="wide") as builder:
        for row in rows:
            O.reduce_sum(O.mul(x, O.tensor(row.shape, const=row)), axes=1)
    return builder.graph


def residual(depth: int) -> xtc.Graph:
    """Blocks whose input is added to their result."""
    value = O.tensor((_ROWS, _COLUMNS), name="x")
    w = _weights("w")
    with O.graph(name="residual") as builder:
        for _ in range(depth):
            value = O.add(O.relu(O.matmul(value, w)), value)
    return builder.graph


GRAPHS: dict[Callable[[int], xtc.Graph], tuple[int, int]] = {
    recurrent: (400, 1600),
    chain: (500, 2000),
    wide: (500, 2000),
    residual: (125, 500),
}
"""The least and the greatest size, with doubled sizes in between."""


def compile_seconds(graph: xtc.Graph) -> float:
    """CPU time of a compilation, over all threads of this process."""
    start = time.process_time()
    xtc.compile(graph, cache=False).close()
    return time.process_time() - start


def print_long_graphs() -> None:
    """Compile each graph at all sizes, and print how the time grows."""
    compile_seconds(chain(64))  # imports and other one-time work
    table = Table(title="long graphs: CPU time of a compilation")
    for heading in ("", "size", "nodes", "s", "ms a node", "by half the size"):
        table.add_column(heading, justify="left" if not heading else "right")
    for make, (size, most) in GRAPHS.items():
        before = 0.0
        while size <= most:
            graph = make(size)
            seconds, nodes = compile_seconds(graph), len(graph.nodes)
            ratio = f"{seconds / before:.2f}" if before else ""
            each = f"{seconds / nodes * 1e3:.2f}"
            table.add_row(make.__name__, f"{size:,}", f"{nodes:,}", f"{seconds:.1f}", each, ratio)
            size, before = 2 * size, seconds
    wide_console().print(table)
