# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of operators: data, graphs of one operand, compiled and NumPy results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import xtc
import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.evaluate import compare
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

Array = np.ndarray[Any, Any]
Write = Callable[..., Tensor]

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
ALL = tuple(ELEMENT_TYPES)
UNTYPED: Any = O  # the operators as seen by a caller without a type checker


def data(shape: Sequence[int], dtype: str, seed: int = 0) -> Array:
    """Floats of both signs around 1, integers of the whole range, bools."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        return rng.standard_normal(shape).astype(ELEMENT_TYPES[dtype].numpy)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def graph_of(writes: Sequence[Write], *arrays: Array) -> Graph:
    """Each of `writes` applied to inputs of the arrays' types, as one output each."""
    with O.graph(name="tested") as gb:
        tensors = [
            O.tensor(array.shape, array.dtype, name=f"x{position}")
            for position, array in enumerate(arrays)
        ]
        O.outputs(*[write(*tensors) for write in writes])
    return gb.graph


def results(writes: Sequence[Write], *arrays: Array) -> list[Array]:
    """Compiled results, each first compared with the operator's reference in NumPy."""
    graph = graph_of(writes, *arrays)
    with xtc.compile(graph, in_memory=True) as module:
        computed = module(*arrays)
    outputs = list(computed) if isinstance(computed, tuple) else [computed]
    for precise in (False, True):
        expected = graph.evaluate(*arrays, precise=precise)
        wanted = list(expected.values()) if isinstance(expected, dict) else [expected]
        for actual, value, tensor in zip(outputs, wanted, graph.outputs, strict=True):
            assert actual.dtype == tensor.element.numpy
            agree(actual, value, graph.reduction_size, name=str(tensor.name))
    return outputs


def result(write: Write, *arrays: Array) -> Array:
    """The compiled result of one operator, checked like those of `results`."""
    return results([write], *arrays)[0]


def agree(actual: Array, expected: Array, reduction: int = 1, name: str = "result") -> None:
    """Check agreement within the tolerance of xtc.evaluate; NaN and infinities must match."""
    compare(actual, expected, name=name, reduction=max(1, reduction)).raise_if_wrong()


def exactly(actual: Array, expected: Array) -> None:
    """Check for equal shapes, types and values; NaN equals NaN."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    same = (actual == expected) | ((actual != actual) & (expected != expected))
    assert np.all(same), f"{actual[~same][:5]} where {expected[~same][:5]} was expected"
