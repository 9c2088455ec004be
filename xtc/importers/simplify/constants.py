# SPDX-License-Identifier: Apache-2.0
"""Constant folding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xtc.core.types import TensorType, element_type
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.rewriter import Rewriter

LARGEST_GROWTH = 1 << 20  # bytes by which a folded constant may exceed its operands


def fold(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Evaluate an operator on constants in NumPy, unless the result is much larger."""
    arrays = [x.const for x in inputs if x.const is not None]
    if len(arrays) != len(inputs):
        return None
    type = op.infer(*(x.type for x in inputs))
    if type.nbytes > LARGEST_GROWTH + 2 * sum(array.nbytes for array in arrays):
        return None
    with np.errstate(all="ignore"):
        result = np.asarray(op.reference(*arrays))
    return constant(result.astype(type.element.numpy, copy=False).reshape(type.sizes), inputs)


def constant(array: Array, like: Sequence[Tensor] = ()) -> Tensor:
    """A constant tensor with the source location of the first tensor of `like`."""
    data = np.array(array, order="C", copy=True)
    data.flags.writeable = False
    where = like[0].where if like else None
    return Tensor(None, TensorType(data.shape, element_type(data.dtype)), const=data, where=where)
