# SPDX-License-Identifier: Apache-2.0
"""Operators that files write as several small ones are recognized by the function they compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.evaluate import sample
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc.importers.finish import finish

SHAPE = (2, 5, 8)
Write = Callable[[Tensor], Tensor]


def simplified(write: Write, shape: tuple[int, ...] = SHAPE) -> tuple[Graph, Graph]:
    """The graph of `write` on an input, as written and simplified."""
    graphs = []
    for simplify in (False, True):
        with O.graph(name="written") as builder:
            x = O.tensor(shape, name="x")
            y = write(x)
            if simplify:
                finish(builder, ["y"], [y], [x])
            else:
                O.outputs(y)
        graphs.append(builder.graph)
    plain, simple = graphs
    array = sample(shape, "float32", 0)
    expected = plain.evaluate(array)
    np.testing.assert_allclose(simple.evaluate(array), expected, rtol=1e-5, atol=1e-5)
    return plain, simple


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def constant(value: Any) -> Tensor:
    array = np.asarray(value, ELEMENT_TYPES["float32"].numpy)
    return O.tensor(array.shape, "float32", const=array)


def cubic(x: Tensor) -> Tensor:
    return O.mul(O.add(x, O.mul(O.pow(x, 3.0), 0.044715)), math.sqrt(2 / math.pi))


def nested_cubic(x: Tensor) -> Tensor:
    """x (a + b x^2), as some libraries write it."""
    inner = O.add(O.mul(O.mul(x, x), 0.044715 * 0.7978845608), 0.7978845608)
    return O.mul(x, inner)


ERF = {
    "half outside": lambda x: O.mul(O.mul(x, O.add(O.erf(O.div(x, math.sqrt(2))), 1.0)), 0.5),
    "half first": lambda x: O.mul(O.mul(0.5, x), O.add(1.0, O.erf(O.mul(x, math.sqrt(0.5))))),
    "half inside": lambda x: O.mul(x, O.mul(O.add(1.0, O.erf(O.mul(x, 0.7071))), 0.5)),
    "half within the sum": lambda x: O.mul(
        O.add(O.mul(O.erf(O.div(x, math.sqrt(2))), 0.5), 0.5), x
    ),
    "divided by two": lambda x: O.div(O.mul(x, O.add(O.erf(O.div(x, math.sqrt(2))), 1.0)), 2.0),
}
TANH = {
    "power": lambda x: O.mul(O.mul(0.5, x), O.add(1.0, O.tanh(cubic(x)))),
    "nested": lambda x: O.mul(O.mul(0.5, x), O.add(O.tanh(nested_cubic(x)), 1.0)),
}


@pytest.mark.parametrize("spelling", [*ERF, *TANH])
def test_gelu(spelling: str) -> None:
    _, graph = simplified({**ERF, **TANH}[spelling])
    assert names(graph) == ["gelu"]
    wanted = "none" if spelling in ERF else "tanh"
    assert graph.nodes[0].op.approximate == wanted  # type: ignore[attr-defined]


def test_a_multiple_of_gelu_keeps_its_factor() -> None:
    _, graph = simplified(lambda x: O.mul(O.mul(x, O.add(O.erf(O.div(x, 2**0.5)), 1.0)), 3.0))
    assert names(graph) == ["gelu", "mul"]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: O.mul(x, O.add(O.erf(O.mul(x, 0.5)), 1.0)),  # another width
        lambda x: O.mul(x, O.add(O.erf(O.mul(x, math.sqrt(0.5))), 2.0)),  # another gate
        lambda x: O.mul(O.exp(x), O.add(O.erf(O.mul(x, math.sqrt(0.5))), 1.0)),  # of another x
        lambda x: O.mul(x, O.add(O.tanh(x), 1.0)),
    ],
)
def test_other_functions_are_not_recognized_as_gelu(write: Write) -> None:
    _, graph = simplified(write)
    assert "gelu" not in names(graph)


def test_silu() -> None:
    assert names(simplified(lambda x: O.mul(O.sigmoid(x), x))[1]) == ["silu"]
    assert names(simplified(lambda x: O.mul(O.sigmoid(x), O.exp(x)))[1]) == [
        "sigmoid",
        "exp",
        "mul",
    ]


def mean(x: Tensor, axes: tuple[int, ...] = (-1,)) -> Tensor:
    return O.reduce_mean(x, axes=axes, keepdims=True)


def layer_norm(x: Tensor, how: str, axes: tuple[int, ...] = (-1,)) -> Tensor:
    centered = O.sub(x, mean(x, axes))
    again = O.sub(x, mean(x, axes)) if how == "twice" else centered
    square = O.pow(again, 2.0) if how == "power" else O.mul(again, again)
    shifted = O.add(mean(square, axes), 1e-5)
    if how == "rsqrt":
        return O.mul(O.rsqrt(shifted), centered)
    if how == "reciprocal":
        return O.mul(centered, O.div(1.0, O.sqrt(shifted)))
    return O.div(centered, O.sqrt(shifted))


@pytest.mark.parametrize("how", ["twice", "power", "rsqrt", "reciprocal", "plain"])
def test_layer_norm(how: str) -> None:
    gamma, beta = np.linspace(0.5, 2, 8), np.linspace(-1, 1, 8)

    def write(x: Tensor) -> Tensor:
        return O.add(O.mul(layer_norm(x, how), constant(gamma)), constant(beta))

    _, graph = simplified(write)
    assert names(graph) == ["layer_norm"]
    assert names(simplified(lambda x: layer_norm(x, how, (1, 2)))[1]) == ["layer_norm"]


def test_a_normalization_of_other_dimensions_is_unchanged() -> None:
    assert "layer_norm" not in names(simplified(lambda x: layer_norm(x, "plain", (0,)))[1])
    # Over channels of a channels-first image it is one: between two transposes.
    _, graph = simplified(
        lambda x: O.transpose(
            layer_norm(O.transpose(x, axes=(0, 3, 1, 2)), "plain", (1,)), axes=(0, 2, 3, 1)
        ),
        (1, 4, 4, 8),
    )
    assert names(graph) == ["layer_norm"]


def test_a_vector_times_a_computed_number_is_unchanged() -> None:
    _, graph = simplified(lambda x: O.mul(O.reduce_max(x), np.arange(8, dtype=np.float32)))
    assert names(graph) == ["reduce_max", "mul"]


def test_transposes_move_past_dimensions_of_size_one() -> None:
    def write(x: Tensor) -> Tensor:
        first = O.transpose(O.relu(x), axes=(0, 3, 1, 2))
        return O.transpose(O.reshape(first, (1, 8, 5)), axes=(0, 2, 1))

    _, graph = simplified(write, (1, 1, 5, 8))
    assert names(graph) == ["relu", "reshape"]


def test_rules_do_not_undo_each_other() -> None:
    halved = simplified(lambda x: O.div(O.mul(x, 2.0), 2.0))[1]
    assert len(halved.nodes) == 1  # an input cannot be an output directly

    def write(x: Tensor) -> Tensor:
        column = O.reduce_sum(O.transpose(x, axes=(0, 2, 1)), axes=(1,), keepdims=True)
        row = O.reduce_max(x, axes=(1, 2), keepdims=True)
        return O.add(O.transpose(row, axes=(0, 2, 1)), O.transpose(column, axes=(1, 0, 2)))

    simplified(write, (1, 5, 8))


@pytest.mark.parametrize("seed", [5154, 5584])
def test_simplification_terminates(seed: int) -> None:
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    import xtc
    from tools.onnx_random import random_model

    proto, *_ = random_model(seed)
    assert xtc.from_onnx(proto).graph.nodes
