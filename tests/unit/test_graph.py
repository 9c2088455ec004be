# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xtc.ops as O
from tests.unit.graph_support import Scale, fails, float_input, here
from xtc.core.errors import UserError
from xtc.core.location import SourceLocation
from xtc.graph.builder import GraphBuilder, apply

# Declarations of tensors.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: O.tensor((0, 4)), "dimension 0 of shape (0, 4) is 0"),
        (lambda: O.tensor((4, -1)), "dimension 1 of shape (4, -1) is -1"),
        (lambda: O.tensor((4, "n")), "is the name 'n'"),
        (lambda: O.tensor(("4 rows",)), "the symbolic dimension '4 rows' is not a name"),
        (lambda: O.tensor((1.5,)), "is not an integer: 1.5"),
        (lambda: O.tensor((True,)), "is not an integer: True"),
        (lambda: O.tensor(3.0), "a shape is a sequence of sizes"),
        (lambda: O.tensor((1,) * 9), "has rank 9"),
        (lambda: O.tensor((1 << 30, 1 << 30)), "larger than 1 TiB"),
        (lambda: O.tensor((4,), "float31"), "did you mean 'float32'?"),
        (lambda: O.tensor((4,), "float32", name="a b"), "'a b' cannot be the name of a tensor"),
        (lambda: O.tensor((4,), "float32", device="Not 1"), "'Not 1' is not a device name"),
        (lambda: O.tensor((4,), "float32", device=3), "device=3 is not a device"),
    ],
)
def test_an_invalid_tensor_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UserError) as info:
        make()
    assert message in str(info.value)
    assert isinstance(info.value.where, SourceLocation)


def test_a_tensor_names_the_line_it_is_written_on() -> None:
    fails(lambda: O.tensor((0,)), "every size is 1 or more", here())


def test_a_constant_has_the_shape_and_type_declared() -> None:
    ones = np.ones((2, 3), np.float32)
    fails(lambda: O.tensor((3, 2), const=ones), "has shape (2, 3), not (3, 2)", here())
    fails(lambda: O.tensor((2, 3), "float64", const=ones), "is float32, not float64", here())
    fails(lambda: O.tensor(("n", 3), const=ones), "has shape (2, 3)", here())


def test_a_constant_is_a_copy() -> None:
    ones = np.ones((2,), np.float32)
    tensor = O.tensor((2,), const=ones)
    ones[0] = 7
    assert tensor.const is not None
    assert tensor.const.tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        tensor.const[0] = 7


def test_a_tensor_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(float_input(2))


# Errors while a graph is written.


def test_an_operator_outside_a_graph_is_refused() -> None:
    x = float_input(2)
    fails(lambda: O.relu(x), "O.relu is called outside of a graph", here())
    fails(lambda: O.inputs(x), "O.inputs is called outside of a graph", here())


def test_an_operand_must_be_a_tensor() -> None:
    def write() -> None:
        with O.graph():
            apply(O.relu(float_input(2)).producer.op, [1.0, 2.0])  # type: ignore[union-attr]

    error = fails(write, "an operand of relu is list, not a tensor", here() - 2)
    assert "O.tensor(array.shape, array.dtype, const=array)" in str(error)


def test_an_operand_of_another_graph_is_refused() -> None:
    with O.graph():
        foreign = O.relu(float_input(2), name="y")
    computed = here() - 1

    def write() -> None:
        with O.graph():
            O.relu(foreign)

    error = fails(write, "an operand of relu belongs to another graph", here() - 2)
    assert f"test_graph.py:{computed}" in error.notes[0]


def test_an_operand_of_a_finished_graph_is_refused() -> None:
    with O.graph():
        y = O.relu(float_input(2))

    def write() -> None:
        with O.graph():
            O.relu(y)

    fails(write, "belongs to another graph", here() - 2)


def test_a_nested_graph_is_also_part_of_the_outer_one() -> None:
    x, w = O.tensor((4, 8), name="X"), O.tensor((8, 6), name="W")
    with O.graph(name="layer") as layer:
        with O.graph(name="product") as product:
            z = O.matmul(x, w, name="Z")
        with O.graph(name="bend") as bend:
            O.relu(z, threshold=0.5, name="R")
    assert [node.name for node in layer.graph.nodes] == ["Z", "R"]
    assert [tensor.name for tensor in product.graph.inputs] == ["X", "W"]
    assert [tensor.name for tensor in bend.graph.inputs] == ["Z"]
    arrays = [np.full((4, 8), 0.1, "float32"), np.full((8, 6), 0.2, "float32")]
    between = product.graph.evaluate(*arrays)
    expected = bend.graph.evaluate(between)
    assert np.array_equal(layer.graph.evaluate(*arrays), expected)


def test_a_layout_is_the_order_of_dimensions_in_memory() -> None:
    a = O.tensor((4, 12), name="A", layout=(1, 0))
    with O.graph() as builder:
        O.matmul(a, O.tensor((12, 5), name="B"), name="C")
        O.relu(a, name="R")
    assert [tensor.shape for tensor in builder.graph.inputs] == [(12, 4), (12, 5)]
    assert [node.op.name for node in builder.graph.nodes] == ["transpose", "matmul", "relu"]
    stored = np.arange(48, dtype="float32").reshape(12, 4)
    ones = np.ones((12, 5), "float32")
    results = builder.graph.evaluate(stored, ones)
    assert np.array_equal(results["C"], stored.T @ ones)
    assert np.array_equal(results["R"], stored.T)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"const": True}, "const of a tensor is its value"),
        ({"layout": (0, 0)}, "does not permute 2 dimensions"),
        ({"layout": (0, 1), "const": np.ones((2, 3), "float32")}, "a constant has no layout"),
    ],
)
def test_contradictory_declarations_are_refused(arguments: dict[str, Any], message: str) -> None:
    fails(lambda: O.tensor((2, 3), **arguments), message, here())


def test_incompatible_shapes_name_operands_and_line() -> None:
    def write() -> None:
        with O.graph():
            O.matmul(float_input(2, 3), float_input(4, 5))

    error = fails(write, "K of matmul is 3", here() - 2)
    assert "operands of matmul: 2x3xfloat32, 4x5xfloat32" in error.notes


@pytest.mark.parametrize("name", ["3d", "a-b", "", "a" * 81])
def test_names_are_identifiers(name: str) -> None:
    fails(lambda: O.graph(name), "cannot be the name of a graph", here())


@pytest.mark.parametrize("name", ["int", "main", "expf", "__init"])
def test_a_graph_cannot_be_named_like_a_c_function(name: str) -> None:
    def write() -> None:
        with O.graph(name):
            O.relu(float_input(2))

    fails(write, f"graph name '{name}' is taken", here() - 3)


def test_attributes_become_plain_data() -> None:
    with O.graph() as gb:
        apply(Scale([np.float64(0.5), [np.int32(3), None]]), float_input(2), name="y")
    op: Any = gb.graph.node("y").op
    assert op.factors == (0.5, (3, None))
    assert type(op.factors[0]) is float
    assert "factors=(0.5, (3, None))" in str(gb.graph)


def test_attributes_that_are_not_plain_data_are_refused() -> None:
    def write() -> None:
        with O.graph():
            apply(Scale((1, {})), float_input(2))

    fails(write, "attribute 'factors' of scale is dict, not plain data", here() - 2)


# Errors when a graph is finished.


def finish(write: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        with O.graph("finished"):
            write()

    return run


def test_a_graph_without_operators_is_refused() -> None:
    fails(lambda: O.graph("empty").__enter__().__exit__(None, None, None), "no operator", here())


def test_two_tensors_of_one_name_are_refused() -> None:
    x = O.tensor((2,), name="x")
    first = here() - 1

    error = fails(finish(lambda: O.relu(x, name="x")), "two tensors are called 'x'", here())
    assert f"test_graph.py:{first}" in error.notes[0]


def test_generated_names_avoid_the_users_names() -> None:
    with O.graph() as gb:
        O.relu(O.relu(O.relu(float_input(2), name="relu1")), name="input0")
    assert [node.name for node in gb.graph] == ["relu1", "relu0", "input0"]
    assert [tensor.name for tensor in gb.graph.inputs] == ["input1"]


def test_an_unused_tensor_is_refused() -> None:
    def write() -> None:
        with O.graph():
            O.tensor((2,), name="lonely")
            O.relu(float_input(2))

    fails(write, "tensor 'lonely' is declared but never used", here() - 3)


def test_an_unused_result_is_refused() -> None:
    x = float_input(2)

    def write() -> None:
        with O.graph():
            O.relu(x, name="dead")
            O.outputs(O.relu(x))

    fails(write, "the result of relu is neither used nor an output", here() - 3)


def test_outputs_must_be_computed_in_the_graph() -> None:
    x = O.tensor((2,), name="x")
    declared = here() - 1

    def write() -> None:
        with O.graph():
            O.relu(x)
            O.outputs(x)

    fails(write, "tensor 'x' is not computed by this graph", declared)


def test_outputs_are_listed_once() -> None:
    x = float_input(2)

    def twice() -> None:
        y = O.relu(x)
        O.outputs(y, y)

    def none() -> None:
        O.relu(x)
        O.outputs()

    def again() -> None:
        y = O.relu(x)
        O.outputs(y)
        O.outputs(y)

    def number() -> None:
        O.relu(x)
        O.outputs(3)  # type: ignore[arg-type]

    fails(finish(twice), "O.outputs names a tensor twice", twice.__code__.co_firstlineno + 2)
    fails(finish(none), "O.outputs names no tensor", none.__code__.co_firstlineno + 2)
    fails(finish(again), "O.outputs is called twice", again.__code__.co_firstlineno + 3)
    fails(finish(number), "O.outputs takes tensors, not int", number.__code__.co_firstlineno + 2)


def test_listed_inputs_must_be_complete_and_inputs() -> None:
    x, y = O.tensor((2,), name="x"), O.tensor((2,), name="y")
    declared = here() - 1

    def missing() -> None:
        O.inputs(x)
        O.add(x, y)

    def computed() -> None:
        z = O.add(x, y, name="z")
        O.inputs(x, y, z)
        O.relu(z)

    def unused() -> None:
        O.inputs(x, y)
        O.relu(x)

    fails(finish(missing), "tensor 'y' is used but not among the inputs", declared)
    fails(finish(computed), "tensor 'z' is not an input", computed.__code__.co_firstlineno + 1)
    fails(finish(unused), "tensor 'y' is declared but never used", declared)


def test_inputs_are_in_the_order_given() -> None:
    x, y = float_input(2, name="x"), float_input(2, name="y")
    with O.graph() as gb:
        O.inputs(y, x)
        O.sub(x, y)
    assert [tensor.name for tensor in gb.graph.inputs] == ["y", "x"]


def test_inputs_are_in_the_order_of_their_declarations() -> None:
    """Not of their uses: two inputs of one type would be exchanged without an error."""
    x, y = float_input(2, name="x"), float_input(2, name="y")
    with O.graph() as gb:
        O.sub(y, x)
    assert [tensor.name for tensor in gb.graph.inputs] == ["x", "y"]
    four, two = np.full(2, 4, np.float32), np.full(2, 2, np.float32)
    assert gb.graph.evaluate(four, two).tolist() == [-2, -2]


def test_a_graph_is_available_after_its_block() -> None:
    with O.graph(name="late") as gb:
        O.relu(float_input(2))
        fails(lambda: gb.graph, "graph 'late' is not finished", here())
    assert gb.graph.name == "late"


def test_a_failed_block_leaves_no_graph_and_no_open_builder() -> None:
    gb = O.graph()
    with pytest.raises(ZeroDivisionError), gb:
        raise ZeroDivisionError
    fails(lambda: gb.graph, "is not finished", here())
    fails(lambda: O.relu(float_input(2)), "outside of a graph", here())


def test_a_graph_is_written_once() -> None:
    with O.graph() as gb:
        O.relu(float_input(2))
    fails(lambda: gb.__enter__(), "is already written", here())


def test_graphs_nest() -> None:
    with O.graph("outer") as outer:
        y = O.relu(float_input(2))
        with O.graph("inner") as inner:
            O.relu(float_input(3))
        O.relu(y)
    assert len(outer.graph.nodes) == 3
    assert len(inner.graph.nodes) == 1


def test_an_unnamed_input_may_serve_two_graphs() -> None:
    x = float_input(2)
    builders: list[GraphBuilder] = []
    for _ in range(2):
        with O.graph() as gb:
            O.relu(x)
        builders.append(gb)
    assert builders[0].graph == builders[1].graph
    assert x.name is None
