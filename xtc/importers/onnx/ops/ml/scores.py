# SPDX-License-Identifier: Apache-2.0
"""What the models of ai.onnx.ml share: transforms of scores, and labels."""

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
    """Features as numbers that models compute with: float64 as it is, all others in float32."""
    return x if x.dtype in ("float32", "float64") else O.cast(x, "float32")


def rows(x: Tensor) -> Tensor:
    """Samples as rows; a vector is one sample."""
    return O.reshape(x, (1, x.type.size)) if x.type.rank == 1 else x


def transformed(scores: Tensor, how: str) -> Tensor:
    """(samples, classes) after the node's `post_transform`. Raises Unsupported."""
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return O.sigmoid(scores)
    if how == "SOFTMAX":
        return O.softmax(scores, axis=1)
    raise Unsupported(f"post_transform={how}")


def labels_of(call: Call, name: str) -> Array | None:
    """The integer labels of the classes; None if they are texts, which no graph holds."""
    given = call.attribute(name, [])
    return np.asarray(given, np.int64) if given else None


def labelled(chosen: Tensor, labels: Array) -> Tensor:
    """The labels of classes by their numbers."""
    return O.gather(constant(labels), chosen, axis=0)
