# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of parallel loops: schedules, and the threads of a process."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import psutil

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph


def matmul_graph(rows: int, columns: int, depth: int) -> Graph:
    a = O.tensor((rows, depth), "float32", name="A")
    b = O.tensor((depth, columns), "float32", name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


def product_and_relu() -> Graph:
    a, b = O.tensor((37, 16), "float32", name="A"), O.tensor((16, 48), "float32", name="B")
    with O.graph(name="layer") as gb:
        O.relu(O.matmul(a, b, name="C"), name="R")
    return gb.graph


def elementwise() -> Graph:
    a = O.tensor((33, 65), "float32", name="A")
    with O.graph(name="chain") as gb:
        O.add(O.exp(O.relu(a, name="R"), name="E"), a, name="S")
    return gb.graph


def weighted() -> Graph:
    a = O.tensor((24, 16), "float32", name="A")
    weights = np.random.default_rng(0).standard_normal((16, 24)).astype(np.float32)
    with O.graph(name="layer") as gb:
        O.matmul(a, O.tensor((16, 24), const=weights, name="W"), name="C")
    return gb.graph


ROWS = {"C": {"i": "parallelize", "j": {}, "k": {}}}
NESTS: dict[str, tuple[Graph, dict[str, Any]]] = {
    "one loop": (matmul_graph(24, 24, 24), ROWS),
    "tails": (
        matmul_graph(37, 53, 29),
        {"C": {"i": "parallelize", "j": {}, "k": {}, "i#8": {}, "j#16": "vectorize"}},
    ),
    "two loops": (
        matmul_graph(37, 53, 29),
        {"C": {"i": "parallelize", "j": "parallelize", "k": {}, "i#8": {}, "j#16": "vectorize"}},
    ),
    "a packed operand": (
        matmul_graph(48, 64, 64),
        {"C": {"j": "parallelize", "k": {"pack": 1}, "i": {}, "k#16": {}, "j#16": "vectorize"}},
    ),
    "a packed operand and a buffer, with tails": (
        matmul_graph(45, 67, 33),
        {
            "C": {
                "j": {"parallelize": True, "pack": 1},
                "i": {"buffer": True},
                "k": {},
                "i#8": {},
                "j#16": "vectorize",
            }
        },
    ),
    "segments": (
        matmul_graph(64, 32, 24),
        {"C": {"j": "parallelize", "i[0:40]": {"i": {}, "k": {}}, "i[40:]": {"i": {}, "k": {}}}},
    ),
    "a loop for each operator": (
        elementwise(),
        {
            "R": {"i": "parallelize", "j": {}},
            "E": {"i": "parallelize", "j": "parallelize"},
            "S": {"i": "parallelize", "j": "vectorize"},
        },
    ),
    "a fused producer": (
        product_and_relu(),
        {"R": {"i": {"parallelize": True, "fuse": [0]}, "j": {}, "i#4": {}}},
    ),
    "a constant": (weighted(), ROWS),
}


def compiled(name: str = "tails", **options: Any) -> xtc.Module:
    graph, schedule = NESTS[name]
    return xtc.compile(graph, schedule=schedule, **options)


def samples(module: xtc.Module, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [
        rng.standard_normal(argument.shape).astype(argument.dtype)
        for argument in module.artifact.manifest.inputs
    ]


def threads_of_process() -> int:
    """The persistent threads of this process; the system lists an ended thread a moment longer."""
    counts = []
    for _ in range(5):
        counts.append(psutil.Process().num_threads())
        time.sleep(0.002)
    return min(counts)
