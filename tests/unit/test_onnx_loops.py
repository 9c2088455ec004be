# SPDX-License-Identifier: Apache-2.0
"""ONNX loops with a length derived from counters become one loop of the IR."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtc
from xtc.core.errors import UserError
from xtc.importers.onnx.ops import loop

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

helper = onnx.helper
FLOAT, INT32, INT64, BOOL = (
    getattr(onnx.TensorProto, name) for name in ("FLOAT", "INT32", "INT64", "BOOL")
)
KERNEL = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32) / 2


def info(name: str, shape: Any, dtype: int = FLOAT) -> Any:
    """A value's name and type."""
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name: str, array: Any, dtype: str = "float32") -> Any:
    """A constant of the file."""
    return onnx.numpy_helper.from_array(np.asarray(array, dtype), name)


def recurrent(steps: int, last: str = "n") -> Any:
    """A layer as in TensorFlow's files: the time step is carried, and compared with the length.

    `last` names the limit of the comparison: the length, or a number that the layer computes.
    """
    body = helper.make_graph(
        [
            helper.make_node("Add", ["t", "one"], ["t2"]),
            helper.make_node("Gather", ["x", "t"], ["row"], axis=0),
            helper.make_node("MatMul", ["h", "k"], ["hk"]),
            helper.make_node("Add", ["hk", "row"], ["s"]),
            helper.make_node("Tanh", ["s"], ["h2"]),
            helper.make_node("ReduceSum", ["h2"], ["total"], keepdims=0),
            helper.make_node("Cast", ["total"], ["whole"], to=INT32),
            helper.make_node("Less", ["t2", last], ["goes"]),
            helper.make_node("Identity", ["k"], ["k2"]),
            helper.make_node("Identity", ["h2"], ["each"]),
        ],
        "body",
        [
            *(info("i", [], INT64), info("go", [], BOOL), info("t", [], INT32)),
            *(info("h", None), info("k", None)),
        ],
        [
            *(info("goes", [], BOOL), info("t2", [], INT32), info("h2", None)),
            *(info("k2", None), info("each", None)),
        ],
    )
    names = ["", "begins", "first", "h0", "kernel"]
    graph = helper.make_graph(
        [helper.make_node("Loop", names, ["time", "state", "weights", "states"], body=body)],
        "recurrent",
        [info("x", [20, 2, 4])],
        [info("time", [], INT32), info("state", [2, 4]), info("states", None)],
        initializer=[
            *(constant(name, n, "int32") for name, n in (("one", 1), ("n", steps), ("first", 3))),
            constant("begins", True, "bool"),
            constant("kernel", KERNEL),
            constant("h0", np.zeros((2, 4))),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [7, 20])
def test_a_counter_ends_a_loop(steps: int) -> None:
    """A loop of 4 iterations, which is unrolled, and one of 17, which becomes one loop."""
    graph = xtc.from_onnx(recurrent(steps)).graph
    assert [node.op.name for node in graph.nodes].count("scan") == (steps == 20)
    x = np.random.default_rng(1).standard_normal((20, 2, 4)).astype(np.float32)
    states = [np.zeros((2, 4), np.float32)]
    for row in x[3:steps]:
        states.append(np.tanh(states[-1] @ KERNEL + row))
    with xtc.compile(graph, in_memory=True) as module:
        time, last, every = module(x)
    assert (time.dtype, int(time)) == (np.int32, steps)
    np.testing.assert_allclose(last, states[-1], atol=1e-6)
    np.testing.assert_allclose(every, states[1:], atol=1e-6)


def test_a_loop_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LONGEST", 32)
    with pytest.raises(UserError) as error:
        _ = xtc.from_onnx(recurrent(1000)).graph
    assert "node 1, Loop (opset 17): a loop of more than 32 iterations" in str(error.value)


def test_a_loop_of_computed_length_is_refused() -> None:
    with pytest.raises(UserError) as error:
        _ = xtc.from_onnx(recurrent(5, last="whole")).graph
    assert "Loop (opset 17): a loop whose trip count is known only at run time" in str(error.value)
