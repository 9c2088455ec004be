# SPDX-License-Identifier: Apache-2.0
"""ONNX: results whose sizes depend on values, and files that other readers accept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import xtc  # noqa: E402

INT, FLOAT, BOOL = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL


def info(name: str, kind: int, shape: Any = None) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def built(nodes: list[Any], inputs: list[Any], outputs: list[Any], **options: Any) -> Any:
    initial = options.pop("initializer", [])
    graph = helper.make_graph(nodes, "values", inputs, outputs, initial)
    options.setdefault("opset_imports", [helper.make_opsetid("", 20)])
    return helper.make_model(graph, ir_version=options.pop("ir_version", 9), **options)


@pytest.mark.slow
def test_values_of_small_inputs_decide_sizes() -> None:
    nodes = [
        helper.make_node("Equal", ["tokens", "end"], ["ends"]),
        helper.make_node("NonZero", ["ends"], ["positions"]),
        helper.make_node("Unique", ["tokens"], ["u", "first", "places", "counts"], sorted=0),
        helper.make_node("Compress", ["x", "mask"], ["rows"], axis=0),
        helper.make_node("Compress", ["x", "mask"], ["elements"]),
    ]
    outputs = [info(name, INT) for name in ("positions", "u", "first", "places", "counts")]
    proto = built(
        nodes,
        [info("tokens", INT, [5]), info("x", FLOAT, [3, 2]), info("mask", BOOL, [3])],
        [*outputs, info("rows", FLOAT), info("elements", FLOAT)],
        initializer=[numpy_helper.from_array(np.array(7), "end")],
    )
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    with xtc.compile(xtc.from_onnx(proto), in_memory=True) as module:
        for tokens, mask in (([9, 7, 3, 7, 3], [1, 0, 1]), ([7, 1, 1, 1, 2], [0, 1, 0])):
            given = {"tokens": np.array(tokens), "x": x, "mask": np.array(mask, bool)}
            found = module(**given)
            wanted = ReferenceEvaluator(proto).run(None, given)
            for got, reference in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(got, reference)


def test_the_long_name_of_the_standard_domain_is_accepted() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx")
    proto = built(
        [node],
        [info("x", FLOAT, [3])],
        [info("y", FLOAT, [3])],
        opset_imports=[helper.make_opsetid("ai.onnx", 13)],
    )
    assert len(xtc.from_onnx(proto).bind().nodes) == 1


def test_constants_of_old_files_need_not_be_inputs() -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    proto = built(
        [node],
        [info("x", FLOAT, [3])],
        [info("y", FLOAT, [3])],
        initializer=[numpy_helper.from_array(np.ones(3, np.float32), "w")],
        ir_version=3,
        opset_imports=[helper.make_opsetid("", 7)],
    )
    model = xtc.from_onnx(proto)
    assert [given.name for given in model.inputs] == ["x"]
    assert proto.ir_version == 3
