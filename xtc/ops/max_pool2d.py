# SPDX-License-Identifier: Apache-2.0
"""max_pool2d: the largest element of each window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.types import TensorType, element_type
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ops.attributes import user_function
from xtc.ops.elementwise import require_number
from xtc.ops.pooling import Number, Pool2d, canonical_window
from xtc.ops.window import Pair


@dataclass(frozen=True)
class MaxPool2d(Pool2d):
    """The largest element of each window; NaN if there is one. Padding is ignored."""

    name: ClassVar[str] = "max_pool2d"

    def check_element(self, type: TensorType) -> None:
        require_number(self.name, type)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        largest: Array = self.padded_windows(x, _lowest(x.dtype)).max(axis=(-2, -1))
        return largest

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        lowest = _lowest(result.element.numpy)
        unsigned = not (result.element.signed or result.element.is_float)
        operation = f"linalg.pooling_nhwc_max{'_unsigned' if unsigned else ''}"
        return self.reduce(builder, operation, inputs[0], result, lowest)


@user_function
def max_pool2d(
    x: Tensor,
    window: int | Pair,
    *,
    stride: int | Pair | None = None,
    padding: object = 0,
    dilation: int | Pair = 1,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """The largest element of each window of `x`, (n, h, w, c), of any number type; NaN stays NaN.

    Window, stride and dilation are one number or (height, width); the stride is the window where
    None. Padding is written as for conv2d and is ignored; it is smaller than the window. Loops are
    n, h, w, c, r, s. Raises UserError if rank or attributes do not fit.
    """
    attributes = canonical_window("max_pool2d", x, window, stride, padding, dilation)
    return apply(MaxPool2d(**attributes), x, name=name, device=device)


def _lowest(dtype: np.dtype[np.generic]) -> Number:
    """The lowest value of the type."""
    if element_type(dtype).is_float:
        return float("-inf")
    return int(np.iinfo(dtype).min)  # type: ignore[type-var]
