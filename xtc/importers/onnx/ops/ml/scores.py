# SPDX-License-Identifier: Apache-2.0
"""Score transforms and labels, shared by the models of ai.onnx.ml."""

from __future__ import annotations

import functools

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.table import reads
from xtc.importers.values import Array, Unsupported

DOMAIN = "ai.onnx.ml"
learned = functools.partial(reads, domain=DOMAIN)


def floats(x: Tensor) -> Tensor:
    """Features in a type of the model: float64 unchanged, all others as float32."""
    return x if x.dtype in ("float32", "float64") else O.cast(x, "float32")


def rows(x: Tensor) -> Tensor:
    """Samples as rows; a vector is one sample."""
    return O.reshape(x, (1, x.type.size)) if x.type.rank == 1 else x


def transformed(scores: Tensor, how: str) -> Tensor:
    """Apply the node's `post_transform` to (samples, classes). Raises Unsupported."""
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return O.sigmoid(scores)
    if how == "SOFTMAX":
        return O.softmax(scores, axis=1)
    raise Unsupported(f"post_transform={how}")


def labels_of(call: Call, name: str) -> Array | None:
    """The integer labels of the classes; None if they are strings, which graphs lack."""
    given = call.attribute(name, [])
    return np.asarray(given, np.int64) if given else None


def labeled(chosen: Tensor, labels: Array) -> Tensor:
    """The labels of classes by index."""
    return O.gather(constant(labels), chosen, axis=0)
