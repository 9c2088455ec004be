# SPDX-License-Identifier: Apache-2.0
"""quantize: floats as quantized integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES, TensorType, element_type
from xtc.core.value_checks import whole
from xtc.graph.builder import apply, tensor
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_choice, check_operands, user_function
from xtc.ops.elementwise import (
    Elementwise,
    broadcast_shape,
    emit_elementwise,
    require_float,
    require_same_element,
)

HALVES = ("even", "away")
_NARROW = ("int8", "uint8", "int16", "uint16")


@dataclass(frozen=True)
class Quantize(Elementwise):
    """round(x / scale) + zero_point, saturated; NaN gives the integer 0."""

    name: ClassVar[str] = "quantize"
    operands: ClassVar[int] = 2
    flops_per_element: ClassVar[int] = 3
    zero_point: int = 0
    dtype: str = "int8"
    halves: str = "even"

    def infer(self, *inputs: TensorType) -> TensorType:
        x, _ = check_operands(self.name, inputs, 2)
        require_same_element(self.name, inputs)
        require_float(self.name, x)
        check_choice(self.name, "halves", self.halves, HALVES)
        check_choice(self.name, "dtype", self.dtype, _NARROW)
        whole("zero_point", self.zero_point, *ELEMENT_TYPES[self.dtype].limits)
        if broadcast_shape(self.name, inputs) != x.shape:
            raise UserError(f"the scale of quantize has more dimensions than {x.shape}")
        return x.with_element(element_type(self.dtype))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, *elements: Scalar) -> Scalar:
            wide = (scalars.cast(x, x.element.accumulator) for x in elements[:-1])
            return scalars.cast(self.scalar(scalars, *wide), result.element)

        return emit_elementwise(builder, inputs, result, body)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        x, scale = elements
        steps = body.math("roundeven" if self.halves == "even" else "round", body.div(x, scale))
        return body.add(steps, body.constant(self.zero_point, steps.element))

    def reference(self, *arrays: Array) -> Array:
        x, scale = (a.astype(element_type(a.dtype).accumulator.numpy) for a in arrays)
        real = x / scale
        whole = np.rint(real) if self.halves == "even" else _half_away(real)
        least, greatest = element_type(self.dtype).limits
        limited: Array = np.clip(np.nan_to_num(whole + self.zero_point, nan=0.0), least, greatest)
        return np.asarray(limited, element_type(self.dtype).numpy)


def _half_away(x: Array) -> Array:
    """To nearest, ties away from zero, as C's round."""
    whole = np.trunc(x)
    result: Array = whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1, x), 0)
    return result


@user_function
def quantize(
    x: Tensor,
    scale: float | Sequence[float] | Array,
    *,
    zero_point: int = 0,
    dtype: str = "int8",
    halves: str = "even",
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """round(`x` / `scale`) + `zero_point`, saturated to `dtype`: int8, uint8, int16 or uint16.

    `scale` is a number, or one for each index of the last dimension of `x`. Halves are rounded to
    the "even" integer as in ONNX, or "away" from zero as in TensorFlow Lite. Raises UserError if
    types do not fit.
    """
    scales = np.asarray(scale, np.float64)
    factor = tensor(scales.shape, x.dtype, const=scales.astype(element_type(x.dtype).numpy))
    return apply(Quantize(zero_point, dtype, halves), x, factor, name=name, device=device)
