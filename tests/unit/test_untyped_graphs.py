# SPDX-License-Identifier: Apache-2.0
"""Inputs declared without a shape: the graph gets its types on use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.core.types import tensor_type
from xtc.graph.graph import Graph


def convolution() -> Graph:
    """Padding along an axis, a transposition, and attributes that need unknown ranks."""
    image, filters = O.tensor(name="image"), O.tensor(None, "float32", name="filters")
    with O.graph(name="conv_relu") as gb:
        padded = O.pad(image, padding={1: 2, 2: 2}, name="padded")
        plain = O.transpose(filters, axes=(1, 2, 3, 0), name="plain")
        O.relu(O.conv2d(padded, plain, stride=(2, 2), name="conv"), threshold=0.1, name="result")
    return gb.graph


def matmul_graph() -> Graph:
    x, y = O.tensor(), O.tensor()
    with O.graph(name="product") as gb:
        O.relu(x @ y + 1.0)
    return gb.graph


def test_a_typed_graph_equals_a_declared_one() -> None:
    x, y = O.tensor((5, 3)), O.tensor((3, 4))
    with O.graph(name="product") as gb:
        O.relu(x @ y + 1.0)
    typed = matmul_graph().typed(((5, 3), "float32"), (3, 4))
    assert typed == gb.graph
    written = matmul_graph.__code__.co_firstlineno
    assert {node.where.line - written for node in typed if node.where} == {3}


@pytest.mark.slow
def test_a_typed_graph_compiles() -> None:
    graph = convolution().typed((2, 6, 6, 3), filters=((8, 5, 5, 3), "float32"))
    with xtc.compile(graph, in_memory=True) as module:
        module.check()
    assert graph.outputs[0].shape == (2, 3, 3, 8)


def test_a_graph_can_be_typed_repeatedly() -> None:
    graph = matmul_graph()
    for sizes in ((2, 3, 4), (5, 6, 7)):
        i, k, j = sizes
        assert graph.typed((i, k), (k, j)).outputs[0].shape == (i, j)
    wide = graph.typed(np.ones((2, 3)), tensor_type((3, 2), "float64"))
    assert wide.outputs[0].dtype == "float64"


def test_arrays_give_types() -> None:
    x, y = np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)
    np.testing.assert_array_equal(matmul_graph().evaluate(x, y), np.full((2, 2), 4, np.float32))
    np.testing.assert_array_equal(matmul_graph().evaluate(x, input1=y), np.full((2, 2), 4))


def test_nested_graphs_share_untyped_inputs() -> None:
    x, y = O.tensor(), O.tensor()
    with O.graph(name="both") as both:
        with O.graph(name="first") as first:
            z = O.matmul(x, y)
        with O.graph(name="second") as second:
            O.relu(z)
    assert [node.op.name for node in both.graph.typed((2, 3), (3, 4))] == ["matmul", "relu"]
    assert [node.op.name for node in first.graph.typed((2, 3), (3, 4))] == ["matmul"]
    assert str(second.graph.typed((2, 4)).inputs[0].type) == "2x4xfloat32"


def test_typed_and_untyped_operators_keep_their_order() -> None:
    x, y = O.tensor(name="x"), O.tensor((4, 4), name="y")
    with O.graph(name="mixed") as gb:
        O.exp(y)
        first = O.relu(x)
        second = O.neg(y)
        O.add(first, second)
    for graph in (gb.graph.typed((4, 4)), gb.graph.typed((4, 4), (4, 4)), gb.graph.typed(x=(4, 4))):
        assert [node.op.name for node in graph] == ["exp", "relu", "neg", "add"]
        assert [tensor.name for tensor in graph.inputs] == ["x", "y"]


def test_indices_lists_outputs_and_states_are_deferred() -> None:
    x, total = O.tensor(name="x"), O.tensor((2, 3), name="total", state=True)
    with O.graph(name="waiting") as gb:
        whole = O.concat(x[0:1], x[-1:], axis=0)
        O.update(total, O.add(total, whole))
        O.outputs(O.neg(whole))
    graph = gb.graph.typed((4, 3))
    assert graph.outputs[0].shape == (2, 3)
    assert [state.name for state, _ in graph.updates] == ["total"]


def test_an_untyped_graph_prints_itself() -> None:
    assert str(convolution()).splitlines() == [
        "graph conv_relu(%image: ?, %filters: float32) {",
        "  %padded = pad(%image)",
        "  %plain = transpose(%filters)",
        "  %conv = conv2d(%padded, %plain)",
        "  %result = relu(%conv)",
        "}",
    ]
    assert repr(matmul_graph()) == "<xtc.Graph product(input0, input1), of unknown types>"


def test_a_constant_has_the_type_of_its_value() -> None:
    constant = O.tensor(const=np.ones((2, 3), np.int8))
    assert str(constant.type) == "2x3xint8"


MISTAKES: dict[str, tuple[Callable[[], object], list[str]]] = {
    "compiled": (
        lambda: xtc.compile(matmul_graph()),
        [
            "graph 'product' has inputs of unknown type: 'input0', 'input1'",
            "hint: give it types: graph.typed(((4, 8), 'float32'), ...)",
        ],
    ),
    "scheduled": (
        lambda: xtc.Schedule(matmul_graph()),
        ["graph 'product' has inputs of unknown type"],
    ),
    "saved": (lambda: matmul_graph().to_yaml(), ["the type of an input is not known yet"]),
    "asked for a shape": (
        lambda: O.tensor(name="x").shape,
        ["the type of tensor 'x' is not known yet", "note: it is declared without a shape at"],
    ),
    "types that do not fit": (
        lambda: matmul_graph().typed((2, 3), (4, 5)),
        ["K of matmul is 3 in the first operand but 4 in the second"],
    ),
    "too few types": (
        lambda: matmul_graph().typed((2, 3)),
        ["graph.typed of 'product' is called without 'input1'"],
    ),
    "too many types": (
        lambda: matmul_graph().typed(1, 2, 3),
        ["graph.typed of 'product' takes 2 types (input0, input1), not 3"],
    ),
    "another element type": (
        lambda: convolution().typed((1, 4, 4, 1), ((1, 3, 3, 1), "float64")),
        ["input 'filters' is float32, not float64", "note: it is declared at"],
    ),
    "a state": (lambda: O.tensor(state=True), ["a state needs a shape"]),
    "a layout": (lambda: O.tensor(layout=(1, 0)), ["a tensor with a layout needs a shape"]),
    "no number": (lambda: O.tensor(const=True), ["const of a tensor is its value"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_errors_name_the_unknown_types(mistake: str) -> None:
    make, texts = MISTAKES[mistake]
    with pytest.raises(UserError) as info:
        make()
    for text in texts:
        assert text in str(info.value)


def test_a_result_of_another_graph_is_refused() -> None:
    with O.graph(name="first"):
        z = O.relu(O.tensor())
    with (
        pytest.raises(UserError, match="an operand of neg belongs to another graph"),
        O.graph(name="second"),
    ):
        O.neg(z)


def test_a_typed_graph_accepts_its_own_types() -> None:
    graph = matmul_graph().typed((2, 3), (3, 4))
    assert graph.typed((2, 3), input1=((3, 4), "float32")) is graph
    with pytest.raises(UserError, match="input 'input0' is 2x3xfloat32, not 3x3xfloat32"):
        graph.typed((3, 3))
