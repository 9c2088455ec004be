# SPDX-License-Identifier: Apache-2.0
"""Repeated bodies: O.scan, and ONNX loops and recurrent layers, which become one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.emit.module import module_text
from xtc.graph.graph import Graph

STEPS = 40


def recurrence(*, reverse: bool = False, device: str | None = None, steps: int = STEPS) -> Graph:
    """A state that is multiplied by weights in every step."""
    rng = np.random.default_rng(0)
    x, h = O.tensor((steps, 3, 8), name="x"), O.tensor((3, 8), name="h")
    w = O.tensor((8, 8), const=rng.standard_normal((8, 8)).astype(np.float32) / 4)
    with O.graph(name="recurrence") as gb:
        O.inputs(x, h)
        O.scan(
            lambda state, row: O.tanh(O.add(row, O.matmul(state, w))),
            h,
            x,
            reverse=reverse,
            name="y",
            device=device,
        )
    return gb.graph


def arrays(graph: Graph) -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(x.type.sizes).astype(x.dtype) for x in graph.inputs]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.slow
def test_a_body_runs_once_for_each_row(reverse: bool) -> None:
    graph = recurrence(reverse=reverse)
    x, h = arrays(graph)
    (w,) = (np.asarray(tensor.const) for tensor in graph.constants)
    states = [h]
    for row in x[::-1] if reverse else x:
        states.append(np.tanh(row + states[-1] @ w))
    expected = states[::-1] if reverse else states
    np.testing.assert_allclose(graph.evaluate(x, h), expected, atol=1e-5)
    for options in ({}, {"codegen": "c"}):
        with xtc.compile(graph, **options) as module:
            np.testing.assert_allclose(module(x, h), expected, atol=1e-5)


@pytest.mark.parametrize("target", ["mppa", "nvgpu", "upmem"])
@pytest.mark.slow
def test_devices_run_bodies(target: str, is_long: bool) -> None:
    if target != "mppa" and not is_long:
        pytest.skip("more devices are part of a long run")
    graph = recurrence(device=target, steps=2)
    with xtc.compile(graph, target=target) as module:
        module.check()


def test_the_ir_has_one_loop() -> None:
    text = module_text(recurrence())
    assert text.count("scf.for") == text.count("linalg.matmul") == 1
    assert "scf.for" not in module_text(recurrence(device="mppa"))


def test_a_graph_with_a_body_is_saved_and_loaded(tmp_path: Path) -> None:
    graph = recurrence()
    graph.save(tmp_path / "graph.yaml")
    assert Graph.load(tmp_path / "graph.yaml") == graph


def test_invalid_bodies_are_refused() -> None:
    x, h = O.tensor((4, 3), name="x"), O.tensor((3,), name="h")
    longer = O.tensor((5, 3))
    with O.graph(name="refused"):
        with pytest.raises(UserError, match="the body of scan takes 3xfloat32, 3xfloat32 and "):
            O.scan(lambda state, row: O.concat(state, row, axis=0), h, x)
        with pytest.raises(UserError, match="no rows, or different numbers of rows"):
            O.scan(lambda state, a, b: O.add(state, O.add(a, b)), h, x, longer)
        with pytest.raises(UserError, match="the body of scan does not read its state"):
            O.scan(lambda state, row: O.exp(row), h, x)
        O.exp(x)


def compared(proto: Any, **given: Any) -> Graph:
    """The graph of a model, whose compiled results are compared with ONNX Runtime's."""
    model = xtc.from_onnx(proto)
    expected, _ = model.expected(given)
    with xtc.compile(model) as module:
        found = module(**given)
        for array, wanted in zip(found, expected.values(), strict=True):
            np.testing.assert_allclose(array, wanted, rtol=1e-4, atol=1e-5)
        graph: Graph = module.graph
    return graph


def onnx_model(
    nodes: list[Any], inputs: list[Any], outputs: Mapping[str, int], constants: Any
) -> Any:
    from onnx import helper, numpy_helper

    results = [helper.make_tensor_value_info(n, kind, None) for n, kind in outputs.items()]
    held = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "tested", inputs, results, initializer=held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent_layers_are_loops(kind: str, gates: int) -> None:
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    from onnx import TensorProto, helper

    rng = np.random.default_rng(0)
    hidden, shapes = 6, {"w": (gates * 6, 5), "r": (gates * 6, 6), "b": (2 * gates * 6,)}
    weights = {
        name: rng.standard_normal((2, *shape)).astype(np.float32) / 2
        for name, shape in shapes.items()
    }
    weights["lengths"] = np.array([30, 7, 19], np.int32)
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    node = helper.make_node(
        kind,
        ["x", "w", "r", "b", "lengths"],
        ["y", "last"],
        hidden_size=hidden,
        direction="bidirectional",
        **more,
    )
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [30, 3, 5])
    proto = onnx_model([node], [x], {"y": TensorProto.FLOAT, "last": TensorProto.FLOAT}, weights)
    graph = compared(proto, x=rng.standard_normal((30, 3, 5)).astype(np.float32))
    assert [node.op.name for node in graph.nodes].count("scan") == 2
    assert len(graph.nodes) < 60


@pytest.mark.slow
def test_loops_of_onnx_that_carry_several_types() -> None:
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    from onnx import TensorProto, helper

    def info(name: str, kind: int, shape: list[int]) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    body = helper.make_graph(
        [
            helper.make_node("Gather", ["x", "n"], ["row"], axis=0),
            helper.make_node("Mul", ["s", "half"], ["less"]),
            helper.make_node("Add", ["less", "row"], ["s2"]),
            helper.make_node("Add", ["k", "n"], ["k2"]),
            helper.make_node("Identity", ["go"], ["goes"]),
            helper.make_node("Greater", ["s2", "s"], ["grew"]),
        ],
        "body",
        [
            info("n", TensorProto.INT64, []),
            info("go", TensorProto.BOOL, []),
            info("s", TensorProto.FLOAT, [4]),
            info("k", TensorProto.INT64, []),
        ],
        [
            info("goes", TensorProto.BOOL, []),
            info("s2", TensorProto.FLOAT, [4]),
            info("k2", TensorProto.INT64, []),
            info("grew", TensorProto.BOOL, [4]),
        ],
    )
    loop = helper.make_node("Loop", ["count", "", "first", "k0"], ["s", "k", "grew"], body=body)
    constants = {
        "count": np.array(STEPS),
        "half": np.array(0.5, np.float32),
        "first": np.zeros(4, np.float32),
        "k0": np.array(3),
    }
    inputs = [info("x", TensorProto.FLOAT, [STEPS, 4])]
    rng = np.random.default_rng(0)
    proto = onnx_model(
        [loop],
        inputs,
        {"s": TensorProto.FLOAT, "k": TensorProto.INT64, "grew": TensorProto.BOOL},
        constants,
    )
    graph = compared(proto, x=rng.standard_normal((STEPS, 4)).astype(np.float32))
    assert [node.op.name for node in graph.nodes].count("scan") == 1


@pytest.mark.slow
def test_scans_of_onnx_in_both_directions() -> None:
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    from onnx import TensorProto, helper

    def info(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])

    body = helper.make_graph(
        [
            helper.make_node("Sub", ["a", "b"], ["c"]),
            helper.make_node("Mul", ["s", "c"], ["d"]),
            helper.make_node("Tanh", ["d"], ["s2"]),
            helper.make_node("Neg", ["s2"], ["each"]),
        ],
        "body",
        [info("s"), info("a"), info("b")],
        [info("s2"), info("each")],
    )
    node = helper.make_node(
        "Scan",
        ["s", "a", "b"],
        ["last", "every"],
        body=body,
        num_scan_inputs=2,
        scan_input_axes=[0, 1],
        scan_input_directions=[0, 1],
        scan_output_axes=[1],
        scan_output_directions=[1],
    )
    shapes = {"s": (3,), "a": (STEPS, 3), "b": (3, STEPS)}
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    rng = np.random.default_rng(0)
    given = {n: 2 * rng.standard_normal(shape).astype(np.float32) for n, shape in shapes.items()}
    graph = compared(
        onnx_model([node], inputs, dict.fromkeys(("last", "every"), TensorProto.FLOAT), {}), **given
    )
    assert [node.op.name for node in graph.nodes].count("scan") == 1
