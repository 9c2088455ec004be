# SPDX-License-Identifier: Apache-2.0
"""Flushes subnormal weights of trained models to zero.

A multiplication with a subnormal operand costs a hundred cycles and more (Dooley, Kale:
Quantifying the Interference Caused by Subnormal Floating-Point Values, 2006).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.importers.simplify.constants import constant
from xtc.importers.simplify.rewriter import Rewriter
from xtc.ops.add import Add
from xtc.ops.conv2d import Conv2d
from xtc.ops.conv3d import Conv3d
from xtc.ops.einsum import Einsum
from xtc.ops.gemv import Gemv
from xtc.ops.matmul import Matmul

_CONTRACTIONS = (Conv2d, Conv3d, Einsum, Gemv, Matmul)
_FLOATS = (np.float32, np.float64)


def flush_weights(rewriter: Rewriter, op: Operator, inputs: Sequence[Tensor]) -> Tensor | None:
    """Flush subnormal numbers in the constant operands and biases of contractions.

    A number becomes zero if it is below the rounding error of the constant's largest number; a
    constant with small numbers only stays unchanged.
    """
    if not isinstance(op, _CONTRACTIONS) and not _adds_bias(op, inputs):
        return None
    flushed = [_flushed(tensor) for tensor in inputs]
    if all(new is old for new, old in zip(flushed, inputs, strict=True)):
        return None
    return rewriter.write(op, *flushed)


def _adds_bias(op: Operator, inputs: Sequence[Tensor]) -> bool:
    producers = [tensor.producer for tensor in inputs]
    return isinstance(op, Add) and any(
        node is not None and isinstance(node.op, _CONTRACTIONS) for node in producers
    )


def _flushed(tensor: Tensor) -> Tensor:
    """The tensor with its negligible subnormal numbers replaced by zeros."""
    values = tensor.const
    if values is None or values.dtype not in _FLOATS or not values.size:
        return tensor
    subnormal = _subnormal(values)
    if not subnormal.any():
        return tensor
    return constant(np.where(subnormal, values.dtype.type(0), values), (tensor,))


def _subnormal(values: Array) -> Array:
    """Mask of the subnormal numbers; all false if they are not negligible beside the largest."""
    limits = np.finfo(values.dtype)
    sizes = np.abs(values)
    if not sizes.max() * limits.eps >= limits.tiny:  # also false if a number is NaN
        return np.zeros(values.shape, bool)
    found: Array = (sizes < limits.tiny) & (values != 0)
    return found
