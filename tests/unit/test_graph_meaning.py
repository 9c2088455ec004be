# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtc.ops as O
from tests.unit.graph_support import AtMostFour, fails, float_input, here, two_layers
from xtc.core.errors import UserError
from xtc.graph.builder import apply
from xtc.graph.graph import Graph
from xtc.graph.placement import Placement

# Queries of a graph.


def test_a_graph_prints_itself() -> None:
    x = O.tensor(("n", 4), "float32", name="x", device="null0")
    w = O.tensor((3, 4), "float32", name="w", const=np.ones((3, 4), np.float32))
    with O.graph(name="printed") as gb:
        h = O.matmul(x, w, transpose_b=True, name="h", device="null0")
        O.mul(h, 0.5, name="y")
    assert str(gb.graph).splitlines() == [
        "graph printed(%x: nx4xfloat32 @null0) {",
        "  %w: 3x4xfloat32 = const",
        "  %const0: float32 = const 0.5",
        "  %h = matmul(%x, %w, transpose_b=True) @null0 : nx3xfloat32",
        "  %y = mul(%h, %const0) : nx3xfloat32",
        "  return %y",
        "}",
    ]


def test_a_node_is_found_by_name() -> None:
    graph = two_layers()
    assert graph.node("h").op.name == "matmul"
    with pytest.raises(UserError, match="has no node 'hh'"):
        graph.node("hh")


def test_graphs_are_equal_by_value() -> None:
    assert two_layers() == two_layers()
    assert hash(two_layers()) == hash(two_layers())
    assert two_layers() != "two_layers"


def test_graphs_differ_by_constants_and_by_target() -> None:
    def graph(value: float, place: Placement) -> Graph:
        w = O.tensor((2,), name="w", const=np.full(2, value, np.float32))
        with O.graph() as gb:
            O.add(float_input(2), w, device=place)
        return gb.graph

    here, there = Placement("here", "device0"), Placement("there", "device0")
    assert graph(1, here) == graph(1, here)
    assert graph(1, here) != graph(2, here)
    assert str(graph(1, here)) == str(graph(1, there))
    assert graph(1, here) != graph(1, there)


def test_flops_and_reduction_size() -> None:
    graph = two_layers().bind(n=2)
    assert graph.flops == 2 * 2 * 3 * 4 + 2 * 3
    assert graph.reduction_size == 4 + 1


# Symbolic dimensions.


def test_a_symbolic_dimension_is_carried_through_and_bound() -> None:
    graph = two_layers()
    assert graph.symbols == ("n",)
    assert graph.outputs[0].shape == ("n", 3)
    bound = graph.bind(n=np.int64(5))
    assert bound.symbols == ()
    assert bound.outputs[0].shape == (5, 3)
    assert type(bound.outputs[0].shape[0]) is int
    assert bound.node("h").output.producer is bound.node("h")
    assert graph.outputs[0].shape == ("n", 3)
    assert graph.bind() is graph


@pytest.mark.parametrize("size", [0, -1, True, 2.0, "m", None])
def test_a_size_is_a_positive_integer(size: Any) -> None:
    with pytest.raises(UserError, match="dimension 'n' of graph 'two_layers' cannot be"):
        two_layers().bind({"n": size})


def test_an_unknown_dimension_is_refused() -> None:
    with pytest.raises(UserError, match="no symbolic dimension 'm'"):
        two_layers().bind(m=3)


def test_a_size_that_is_too_large_names_the_line() -> None:
    x = O.tensor(("n", 1 << 20), name="x")
    declared = here() - 1
    with O.graph() as gb:
        O.relu(x)
    fails(lambda: gb.graph.bind(n=1 << 40), "larger than 1 TiB", declared)


def test_a_size_that_an_operator_refuses_names_its_line() -> None:
    with O.graph() as gb:
        apply(AtMostFour(), float_input("n", name="x"))
    fails(lambda: gb.graph.bind(n=5), "more than four rows", here() - 1)
    assert gb.graph.bind(n=4).outputs[0].shape == (4,)


# Evaluation with NumPy.


def test_a_graph_is_evaluated_by_position_and_by_name() -> None:
    graph = two_layers()
    x = np.arange(8, dtype=np.float32).reshape(2, 4) - 3
    expected = np.maximum(x @ np.ones((4, 3), np.float32), 0)
    np.testing.assert_array_equal(graph.evaluate(x), expected)
    np.testing.assert_array_equal(graph.evaluate(x=x), expected)
    assert graph.evaluate(x).dtype == np.float32
    assert graph.evaluate(x, precise=True).dtype == np.float64


def test_several_outputs_come_by_name() -> None:
    with O.graph() as gb:
        x = float_input(2, name="x")
        O.outputs(O.relu(x, name="positive"), O.neg(x, name="negated"))
    results = gb.graph.evaluate(np.array([-1, 2], np.float32))
    assert {name: array.tolist() for name, array in results.items()} == {
        "positive": [0, 2],
        "negated": [1, -2],
    }


X = np.ones((2, 4), np.float32)


@pytest.mark.parametrize(
    ("args", "arrays", "message"),
    [
        ((X, X), {}, "takes 1 arrays (x), not 2"),
        ((), {}, "is called without 'x'"),
        ((), {"y": X}, "has no input 'y'"),
        ((X,), {"x": X}, "input 'x' of graph 'two_layers' is given twice"),
        ((X.astype(np.float64),), {}, "input 'x' is float32, not float64"),
        ((X[0],), {}, "input 'x' has shape"),
        ((X[:, :3],), {}, "input 'x' has shape (2, 4), not (2, 3)"),
        ((X[:0],), {}, "dimension 'n' of graph 'two_layers' cannot be 0"),
        (([[1, 2], [3]],), {}, "input 'x' is not an array"),
        ((np.float32(1),), {}, "input 'x' has shape"),
    ],
)
def test_invalid_arrays_are_refused(args: Any, arrays: Any, message: str) -> None:
    with pytest.raises(UserError) as info:
        two_layers().evaluate(*args, **arrays)
    assert message in str(info.value)


def test_inputs_agree_on_a_symbolic_dimension() -> None:
    x, y = O.tensor(("n", 2), name="x"), O.tensor(("n", 2), name="y")
    with O.graph() as gb:
        O.add(x, y)
    ones = np.ones((3, 2), np.float32)
    assert gb.graph.evaluate(ones, ones).shape == (3, 2)
    with pytest.raises(UserError, match="input 'y' has shape"):
        gb.graph.evaluate(ones, ones[:2])


# Placement.


def test_a_device_is_named_by_target_and_number() -> None:
    graph = two_layers()
    assert graph.inputs[0].placement == Placement("null", "null0")
    assert graph.node("h").placement == Placement("null", "null0")
    assert graph.node("y").placement is None


def test_a_live_device_is_remembered_but_not_compared() -> None:
    class Device:
        target_name, device_name = "null", "null0"

    device = Device()
    with O.graph() as gb:
        O.relu(float_input(2), device=device)
    placement = gb.graph.nodes[0].placement
    assert placement == Placement("null", "null0")
    assert placement is not None
    assert placement.device is device
