# SPDX-License-Identifier: Apache-2.0
"""Loss functions."""

from __future__ import annotations

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.reduction import log_softmax_of
from xtc.importers.onnx.table import reads


@reads("NegativeLogLikelihoodLoss", 12, 13, 22)
def negative_log_likelihood(call: Call) -> Tensor:
    return _likelihood(call, call.tensor(0))


@reads("SoftmaxCrossEntropyLoss", 12, 13)
def softmax_cross_entropy(call: Call) -> list[Tensor]:
    probabilities = log_softmax_of(call.tensor(0), 1)
    return [_likelihood(call, probabilities), O.reshape(probabilities, call.shape())]


def _likelihood(call: Call, x: Tensor) -> Tensor:
    """The weighted negative elements of dimension 1 at the targets, reduced."""
    targets, weights = O.cast(call.tensor(1), "int64"), call.optional(2)
    how = call.choice("reduction", "mean", "none", "sum", "mean")
    sizes = targets.type.sizes
    ignored = call.attribute("ignore_index")
    column = O.reshape(targets, (sizes[0], 1, *sizes[1:]))
    loss = O.neg(O.reshape(O.gather_elements(x, column, axis=1), sizes))
    weight = None if weights is None else O.gather(weights, targets)
    if ignored is not None:
        kept = O.not_equal(targets, int(ignored))
        weight = O.where(kept, weight, 0.0) if weight is not None else O.cast(kept, x.dtype)
        loss = O.where(kept, loss, 0.0)
    if weight is not None:
        loss = O.mul(loss, weight)
    if how == "none":
        return loss
    total = O.reduce_sum(loss)
    if how == "sum":
        return total
    if weight is None:
        return O.div(total, float(targets.type.size))
    return O.div(total, O.reduce_sum(weight))
