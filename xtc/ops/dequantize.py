# SPDX-License-Identifier: Apache-2.0
"""dequantize: quantized integers as floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import ELEMENT_TYPES, TensorType
from xtc.core.value_checks import whole
from xtc.graph.builder import apply, tensor
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_operands, user_function
from xtc.ops.elementwise import (
    Elementwise,
    broadcast_shape,
    emit_elementwise,
    require_integer,
)

_INT32, _FLOAT32 = ELEMENT_TYPES["int32"], ELEMENT_TYPES["float32"]


@dataclass(frozen=True)
class Dequantize(Elementwise):
    """(x - zero_point) * scale in float32; the difference wraps in int32."""

    name: ClassVar[str] = "dequantize"
    operands: ClassVar[int] = 2
    flops_per_element: ClassVar[int] = 2
    zero_point: int = 0

    def infer(self, *inputs: TensorType) -> TensorType:
        x, scale = check_operands(self.name, inputs, 2)
        require_integer(self.name, x)
        if x.element.bits > _INT32.bits or x.element.name == "uint32":
            raise UserError(f"dequantize takes integers of up to 32 bits, not {x.element}")
        if scale.element != _FLOAT32:
            raise UserError(f"the scale of dequantize is {scale.element}, not float32")
        if broadcast_shape(self.name, inputs) != x.shape:
            raise UserError(f"the scale of dequantize has more dimensions than {x.shape}")
        whole("zero_point", self.zero_point, *_INT32.limits)
        return x.with_element(_FLOAT32)

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, *elements: Scalar) -> Scalar:
            return self.scalar(scalars, *elements[:-1])

        return emit_elementwise(builder, inputs, result, body)

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        x, scale = elements
        steps = body.sub(body.cast(x, _INT32), body.constant(self.zero_point, _INT32))
        return body.mul(body.cast(steps, _FLOAT32), scale)

    def reference(self, *arrays: Array) -> Array:
        x, scale = arrays
        steps = x.astype(np.int32) - np.int32(self.zero_point)
        result: Array = steps.astype(np.float32) * scale.astype(np.float32)
        return result


@user_function
def dequantize(
    x: Tensor,
    scale: float | Sequence[float] | Array,
    *,
    zero_point: int = 0,
    name: str | None = None,
    device: object = None,
) -> Tensor:
    """(`x` - `zero_point`) * `scale` as float32, of any integers of up to 32 bits.

    `scale` is a number, or one for each index of the last dimension. Raises UserError if types
    do not fit.
    """
    factor = tensor(np.shape(scale), "float32", const=np.asarray(scale, np.float32))
    return apply(Dequantize(zero_point), x, factor, name=name, device=device)
