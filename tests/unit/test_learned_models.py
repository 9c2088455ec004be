# SPDX-License-Identifier: Apache-2.0
"""Operators of the domain ai.onnx.ml against ONNX Runtime: forests, linear models, features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

import xtc  # noqa: E402
from xtc.core.errors import UserError  # noqa: E402

helper = onnx.helper
FLOAT, INT = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def agree(node: Any, x: Any, kinds: list[int], version: int = 3, **constants: Any) -> list[Any]:
    """The result of a node's graph on `x`, which must equal that of ONNX Runtime."""
    graph = helper.make_graph(
        [node],
        "learned",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [
            helper.make_tensor_value_info(n, k, None)
            for n, k in zip(node.output, kinds, strict=True)
        ],
        initializer=[onnx.numpy_helper.from_array(array, n) for n, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    read = xtc.from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=9))
    found = read.graph.evaluate(x)
    wanted, _ = read.expected({"x": x})
    results = list(found.values()) if isinstance(found, dict) else [found]
    for got, want in zip(results, wanted.values(), strict=True):
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    return results


def trees(rng: Any, kind: str, count: int, targets: int, modes: list[str]) -> dict[str, Any]:
    """Random trees of depth 3, each inner node in one of the modes, leaves for random targets."""
    nodes: dict[str, list[Any]] = {
        key: []
        for key in (
            *("treeids", "nodeids", "featureids", "values", "modes", "truenodeids"),
            *("falsenodeids", "missing_value_tracks_true"),
        )
    }
    leaves: dict[str, list[Any]] = {"treeids": [], "nodeids": [], "ids": [], "weights": []}
    for tree in range(count):
        for node in range(15):
            leaf = node >= 7
            nodes["treeids"].append(tree)
            nodes["nodeids"].append(node)
            nodes["featureids"].append(int(rng.integers(0, 4)))
            nodes["values"].append(float(rng.integers(-2, 3)) / 2)
            nodes["modes"].append("LEAF" if leaf else modes[int(rng.integers(len(modes)))])
            nodes["truenodeids"].append(0 if leaf else 2 * node + 1)
            nodes["falsenodeids"].append(0 if leaf else 2 * node + 2)
            nodes["missing_value_tracks_true"].append(int(rng.integers(0, 2)))
            if leaf:
                leaves["treeids"].append(tree)
                leaves["nodeids"].append(node)
                leaves["ids"].append(int(rng.integers(0, targets)))
                leaves["weights"].append(float(rng.standard_normal()))
    attributes = {f"nodes_{key}": value for key, value in nodes.items()}
    return attributes | {f"{kind}_{key}": value for key, value in leaves.items()}


def samples(rng: Any, count: int = 40) -> Any:
    """Multiples of one half, some equal to a split, some NaN."""
    x = (rng.integers(-4, 5, (count, 4)) / 2).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


@pytest.mark.parametrize("modes", [["BRANCH_LEQ"], ["BRANCH_LT"], ["BRANCH_GTE"], ["BRANCH_GT"]])
@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MAX"])
def test_regression_forests(modes: list[str], how: str) -> None:
    rng = np.random.default_rng(len(how))
    given = trees(rng, "target", 5, 1, modes)
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function=how,
        base_values=[0.25],
        **given,
    )
    agree(node, samples(rng), [FLOAT])


@pytest.mark.parametrize("modes", [["BRANCH_LEQ", "BRANCH_GT"], ["BRANCH_EQ", "BRANCH_NEQ"]])
@pytest.mark.parametrize("how", ["NONE", "LOGISTIC"])
def test_classification_forests(modes: list[str], how: str) -> None:
    rng = np.random.default_rng(5)
    given = trees(rng, "class", 4, 3, modes)
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        classlabels_int64s=[7, 8, 9],
        post_transform=how,
        **given,
    )
    agree(node, samples(rng), [INT, FLOAT])


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("how", ["NONE", "LOGISTIC"])
def test_binary_classification_with_weights_of_one_class(positive: bool, how: str) -> None:
    rng = np.random.default_rng(3)
    given = trees(rng, "class", 3, 1, ["BRANCH_LEQ"])
    if positive:
        given["class_weights"] = [abs(weight) / 3 for weight in given["class_weights"]]
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        classlabels_int64s=[0, 1],
        post_transform=how,
        **given,
    )
    agree(node, samples(rng), [INT, FLOAT])


def test_linear_models_and_support_vectors() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((6, 4)).astype(np.float32)

    def numbers(count: int) -> list[float]:
        return [float(value) for value in rng.standard_normal(count)]

    def node(operator: str, outputs: list[str], **attributes: Any) -> Any:
        return helper.make_node(operator, ["x"], outputs, domain="ai.onnx.ml", **attributes)

    weights = {"coefficients": numbers(12), "intercepts": numbers(3)}
    agree(node("LinearRegressor", ["y"], targets=3, **weights), x, [FLOAT])
    labels = {"classlabels_ints": [4, 5, 6], "post_transform": "SOFTMAX"}
    agree(node("LinearClassifier", ["l", "s"], **weights, **labels), x, [INT, FLOAT])
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        agree(
            node(
                "SVMRegressor",
                ["y"],
                kernel_type=kernel,
                kernel_params=[0.5, 0.1, 3.0],
                n_supports=5,
                support_vectors=numbers(20),
                coefficients=numbers(5),
                rho=[0.3],
            ),
            x,
            [FLOAT],
        )


def test_features() -> None:
    rng = np.random.default_rng(2)
    x = samples(rng, 6)
    whole = rng.integers(0, 5, (6, 4)).astype(np.int64)

    def node(operator: str, *inputs: str, **attributes: Any) -> Any:
        names = ["x", *inputs]
        return helper.make_node(operator, names, ["y"], domain="ai.onnx.ml", **attributes)

    agree(
        node("Scaler", offset=[1.0, 2.0, 3.0, 4.0], scale=[0.5, 2.0, 1.0, 3.0]),
        np.nan_to_num(x),
        [FLOAT],
    )
    for norm in ("L1", "L2"):
        agree(node("Normalizer", norm=norm), np.nan_to_num(x), [FLOAT])
    filled = {"imputed_value_floats": [9.0], "replaced_value_float": float("nan")}
    agree(node("Imputer", **filled), x, [FLOAT])
    agree(node("Binarizer", threshold=0.5), np.nan_to_num(x), [FLOAT])
    agree(node("ArrayFeatureExtractor", "at"), x, [FLOAT], at=np.array([2, 0], np.int64))
    agree(node("OneHotEncoder", cats_int64s=[3, 1, 4]), whole, [FLOAT])
    table = {"keys_int64s": [3, 1, 4], "values_floats": [0.5, 1.5, 2.5], "default_float": -7.0}
    agree(node("LabelEncoder", **table), whole, [FLOAT])


def test_text_labels_are_refused() -> None:
    node = helper.make_node(
        "LinearClassifier",
        ["x"],
        ["l", "s"],
        domain="ai.onnx.ml",
        coefficients=[1.0, 2.0],
        classlabels_strings=["no", "yes"],
    )
    with pytest.raises(UserError, match="string labels"):
        agree(node, np.ones((1, 2), np.float32), [onnx.TensorProto.STRING, FLOAT])
