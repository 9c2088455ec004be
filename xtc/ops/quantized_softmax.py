# SPDX-License-Identifier: Apache-2.0
"""quantized_softmax: softmax of int8 in integers, as in TensorFlow Lite's reference kernel.

The differences to the largest element of a row are 0 to 255: their exponentials are a table. The
rules are in tensorflow/lite/kernels/internal/reference/softmax.h and in `xtc.ops.fixed_point`.
"""

from __future__ import annotations

import numpy as np

from xtc.core.errors import UserError
from xtc.graph.builder import apply, tensor
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ops import fixed_point as fixed
from xtc.ops.add import add
from xtc.ops.attributes import user_function
from xtc.ops.bitwise_and import bitwise_and
from xtc.ops.cast import cast
from xtc.ops.gather import gather
from xtc.ops.reduce_max import reduce_max
from xtc.ops.reduce_sum import reduce_sum
from xtc.ops.requantize import fixed_point
from xtc.ops.shift_right import shift_right
from xtc.ops.softmax_share import SUM_BITS, SoftmaxShare
from xtc.ops.sub import sub

_DIFFERENCE_BITS = 5  # integer bits of differences


def powers(scale: float) -> Array:
    """exp(-d * scale) for d from 0 to 255, without integer bits; 0 if it is negligible.

    Raises UserError if the scale is not positive, or so small that nothing differs.
    """
    real = min(scale * (1 << (31 - _DIFFERENCE_BITS)), 2.0**31 - 1)
    multiplier, left, right = fixed_point(real)
    if right:
        raise UserError(f"the scale {scale!r} of quantized_softmax is below 2^-26")
    differences = -np.arange(256, dtype=np.int64)
    counts = differences >= -fixed.radius(_DIFFERENCE_BITS, left)
    rescaled = fixed.product(np.where(counts, differences, 0) << left, multiplier)
    table = np.where(counts, fixed.exp_of_negative(rescaled, _DIFFERENCE_BITS), 0)
    return np.asarray(table, np.int32)


@user_function
def quantized_softmax(
    x: Tensor, scale: float, *, beta: float = 1.0, name: str | None = None
) -> Tensor:
    """exp(beta * x) / sum along the last dimension of `x`, int8 of `scale`, in exact integers.

    The result is int8 with scale 1/256 and zero point -128. Raises UserError if type or scale do
    not fit, and for rows of more than 4095 elements, whose sum would overflow.
    """
    if x.dtype != "int8":
        raise UserError(f"quantized_softmax takes int8, not {x.dtype}")
    axis = x.type.rank - 1
    if axis < 0 or not 0 < int(x.shape[axis]) < 1 << SUM_BITS:
        raise UserError(f"quantized_softmax takes rows of 1 to 4095 elements, not {x.type}")
    values = powers(beta * scale)
    table = tensor(values.shape, "int32", const=values)
    wide = cast(x, "int32")
    power = gather(table, sub(reduce_max(wide, axes=(axis,), keepdims=True), wide))
    rounded = add(shift_right(power, SUM_BITS), bitwise_and(shift_right(power, SUM_BITS - 1), 1))
    total = reduce_sum(rounded, axes=(axis,), keepdims=True)
    return apply(SoftmaxShare(), power, total, name=name)
