# SPDX-License-Identifier: Apache-2.0
"""Large constants of ONNX models are in memory once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.graph.share_constants import share_constants

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

Array = np.ndarray[Any, Any]
WORDS, WIDTH = 640, 48


def tied_model(table: Array) -> Any:
    """A table of embeddings that is also the weights of the last layer."""
    helper = onnx.helper
    nodes = [
        helper.make_node("Gather", ["table", "words"], ["found"]),
        helper.make_node("Gemm", ["found", "table"], ["scores"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "tied",
        [helper.make_tensor_value_info("words", onnx.TensorProto.INT64, [3])],
        [helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [3, WORDS])],
        [onnx.numpy_helper.from_array(table, "table")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def random_table() -> Array:
    return np.random.default_rng(0).standard_normal((WORDS, WIDTH), np.float32)


def test_a_table_that_two_operators_read_is_one_constant(tmp_path: Path) -> None:
    table = random_table()
    onnx.save(tied_model(table), tmp_path / "tied.onnx")
    graph = xtc.from_onnx(tmp_path / "tied.onnx").graph
    words = np.array([5, 0, WORDS - 1])
    with xtc.compile(graph, threads=1, cache=False) as module:
        np.testing.assert_allclose(module(words), table[words] @ table.T, rtol=1e-4, atol=1e-4)
        folder = module.artifact.folder
        assert folder is not None
        stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert stored < 1.5 * table.nbytes + 100_000


def test_a_shared_array_is_stored_once_and_read_only() -> None:
    graph = xtc.from_onnx(tied_model(random_table())).graph
    values = [tensor.const for tensor in graph.constants]
    assert len({value.ctypes.data for value in values if value is not None}) == 1
    for value in values:
        assert value is not None
        with pytest.raises(ValueError, match="read-only"):
            value[0, 0] = 1


def test_a_model_still_describes_its_inputs() -> None:
    pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    table, words = random_table(), np.array([1, 2, 3])
    results, _ = xtc.from_onnx(tied_model(table)).expected({"words": words})
    np.testing.assert_allclose(results["scores"], table[words] @ table.T, rtol=1e-4, atol=1e-4)


def test_data_of_the_wrong_size_is_refused() -> None:
    model = tied_model(random_table())
    model.graph.initializer[0].raw_data = bytes(4 * WORDS * WIDTH - 4)
    with pytest.raises(UserError, match="violates ONNX's rules"):
        xtc.from_onnx(model)


def test_a_users_array_is_copied() -> None:
    array = np.ones(4, np.float32)
    tensor = O.tensor((4,), const=array)
    array[:] = 2
    assert tensor.const is not None
    assert tensor.const.tolist() == [1, 1, 1, 1]


def test_equal_constants_are_merged() -> None:
    zeros = np.zeros(4, np.float32)
    x = O.tensor((4,), name="x")
    with O.graph(name="g") as gb:
        first = O.add(x, O.tensor((4,), const=zeros, name="a"))
        second = O.add(first, O.tensor((4,), const=zeros, name="b"))
        third = O.add(second, O.tensor((4,), const=-zeros, name="negative"))
        O.add(O.reshape(third, (2, 2)), O.tensor((2, 2), const=zeros.reshape(2, 2), name="square"))
    names = [tensor.name for tensor in share_constants(gb.graph).constants]
    assert names == ["a", "negative", "square"]
