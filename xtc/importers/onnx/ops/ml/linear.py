# SPDX-License-Identifier: Apache-2.0
"""Linear models and support vector machines."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.ml.scores import labeled, labels_of, learned, rows, transformed
from xtc.importers.onnx.table import Result
from xtc.importers.values import Array, Unsupported


def _floats(call: Call, name: str) -> Array:
    return np.asarray(call.attribute(name, []), np.float32)


def _samples(call: Call) -> Tensor:
    x = rows(call.tensor(0))
    return x if x.dtype == "float32" else O.cast(x, "float32")


def _linear(call: Call, x: Tensor) -> Tensor:
    weights = _floats(call, "coefficients").reshape(-1, x.type.sizes[1])
    scores = O.matmul(x, constant(weights), transpose_b=True)
    bias = _floats(call, "intercepts")
    return O.add(scores, constant(bias)) if bias.size else scores


@learned("LinearRegressor", 1)
def linear_regressor(call: Call) -> Result:
    return transformed(_linear(call, _samples(call)), str(call.attribute("post_transform", "NONE")))


@learned("LinearClassifier", 1)
def linear_classifier(call: Call) -> Result:
    labels = labels_of(call, "classlabels_ints")
    if labels is None:
        raise Unsupported("string labels")
    scores = _linear(call, _samples(call))
    result = transformed(scores, str(call.attribute("post_transform", "NONE")))
    if scores.type.sizes[1] == 1 and len(labels) == 2:
        chosen = O.reshape(O.cast(O.greater(scores, 0.0), "int64"), (scores.type.sizes[0],))
        return [labeled(chosen, labels), O.concat(O.sub(1.0, result), result, axis=1)]
    return [labeled(O.argmax(scores, axis=1), labels), result]


@learned("SVMRegressor", 1)
def svm_regressor(call: Call) -> Result:
    x = _samples(call)
    rho, weights = _floats(call, "rho"), _floats(call, "coefficients")
    vectors = _floats(call, "support_vectors")
    if int(call.attribute("n_supports", 0)) > 0:
        near = _kernel(call, x, vectors.reshape(-1, x.type.sizes[1]))
    else:
        near = x
    scores = O.matmul(near, constant(weights.reshape(1, -1)), transpose_b=True)
    scores = O.add(scores, float(rho[0]))
    if int(call.attribute("one_class", 0)):
        return O.where(O.greater(scores, 0.0), 1.0, -1.0)
    return transformed(scores, str(call.attribute("post_transform", "NONE")))


def _kernel(call: Call, x: Tensor, vectors: Array) -> Tensor:
    """The kernel function of each sample and each support vector."""
    kind = call.choice("kernel_type", "LINEAR", "LINEAR", "POLY", "RBF", "SIGMOID")
    gamma, offset, degree = (*_floats(call, "kernel_params").tolist(), 0.0, 0.0, 0.0)[:3]
    if kind == "RBF":
        samples, size = x.type.sizes
        apart = O.sub(O.reshape(x, (samples, 1, size)), constant(vectors[None]))
        return O.exp(O.mul(O.reduce_sum(O.mul(apart, apart), axes=(2,)), -gamma))
    inner = O.matmul(x, constant(vectors), transpose_b=True)
    if kind == "LINEAR":
        return inner
    moved = O.add(O.mul(inner, gamma), offset)
    return O.tanh(moved) if kind == "SIGMOID" else O.pow(moved, degree)
