# SPDX-License-Identifier: Apache-2.0
"""cast: the same numbers in another element type.

| from | to | rule |
|---|---|---|
| float | int | truncated toward zero; out of range gives the nearest limit, NaN gives 0 |
| int | int | wraps: the low bits are kept |
| int, float | float | rounded to nearest, ties to even; too large gives an infinity |
| anything | bool | x != 0, so NaN is true |
| bool | number | 0 or 1 |

Conversions from or to bfloat16, and between integers and half floats, go through float32, as in
NumPy and ml_dtypes. Subnormal bfloat16 results may be flushed to 0, as some processors do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import ElementType, TensorType, element_type
from xtc.graph.builder import apply
from xtc.graph.operator import Array
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.attributes import check_operands, user_function
from xtc.ops.elementwise import Elementwise, emit_elementwise, widened


@dataclass(frozen=True)
class Cast(Elementwise):
    """Every element in the type called `dtype`."""

    name: ClassVar[str] = "cast"
    flops_per_element: ClassVar[int] = 0
    dtype: str = "float32"

    def infer(self, *inputs: TensorType) -> TensorType:
        (x,) = check_operands(self.name, inputs, 1)
        return x.with_element(_element(self.dtype))

    def scalar(self, body: ScalarBuilder, *elements: Scalar) -> Scalar:
        (x,) = elements
        return body.cast(x, element_type(self.dtype))

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        def body(scalars: ScalarBuilder, x: Scalar, _old: Scalar) -> Scalar:
            return self.scalar(scalars, x)

        return emit_elementwise(builder, inputs, result, body)

    def reference(self, *arrays: Array) -> Array:
        (x,) = arrays
        to = element_type(self.dtype)
        if to.kind == "bool":
            return np.asarray(x != 0)
        if element_type(x.dtype).is_float and to.kind == "int":
            return _saturated(widened(x), to)
        return x.astype(to.numpy)


@user_function
def cast(x: Tensor, dtype: object, *, name: str | None = None, device: object = None) -> Tensor:
    """`x` in the element type `dtype`, a name such as "int8" or a NumPy type.

    Floats become integers by truncation toward zero, saturating, NaN giving 0; integers wrap;
    anything becomes bool by x != 0; see the table in `xtc.ops.cast`. Raises UserError for an
    unknown element type.
    """
    return apply(Cast(_element(dtype).name), x, name=name, device=device)


def _element(dtype: object) -> ElementType:
    """The element type; NumPy would take None for float64."""
    if dtype is None:
        raise UserError("dtype of cast is None", hints=["O.cast(x, 'float32') names a type"])
    return element_type(dtype)


def _saturated(x: Array, to: ElementType) -> Array:
    """Floats as integers; only values in range reach NumPy's own conversion."""
    low, high = to.limits
    under, over = x < float(low), x >= float(high + 1)
    whole = np.where(under | over | np.isnan(x), 0, x).astype(to.numpy)
    least, greatest = (np.asarray(limit, to.numpy) for limit in to.limits)
    return np.where(under, least, np.where(over, greatest, whole))
