# SPDX-License-Identifier: Apache-2.0
"""Shared by contractions: accumulation types and the multiply-add body.

float16 and bfloat16 are accumulated in float32 and rounded once at the end; int8 and int16 are
accumulated in int32, which is also the type of the result; other types accumulate in themselves.
"""

from __future__ import annotations

import numpy as np

from xtc.core.errors import UserError
from xtc.core.types import ElementType, TensorType, element_type
from xtc.ir.builders.linalg import LinalgBuilder, Value
from xtc.ir.builders.scalar import Scalar, ScalarBuilder
from xtc.ops.elementwise import emit_elementwise


def product_element(element: ElementType) -> ElementType:
    """The type of a sum of products: the accumulator for integers, the type itself for floats."""
    return element if element.is_float else element.accumulator


def contraction_element(element: ElementType) -> ElementType:
    """Like `product_element`, for MLIR's named operations.

    Raises UserError for unsigned integers that are narrower than their accumulator: these
    operations sign-extend every integer.
    """
    if not element.signed and element.bits < element.accumulator.bits:
        raise UserError(
            f"contractions of {element} are not defined",
            hints=[f"cast the operands to {element.accumulator} first"],
        )
    return product_element(element)


def accumulator_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The NumPy type in which elements of `dtype` are summed."""
    return element_type(dtype).accumulator.numpy


def multiply_add(body: ScalarBuilder, a: Scalar, b: Scalar, total: Scalar) -> Scalar:
    """total + a * b in the type of the total."""
    wide_a, wide_b = (body.cast(x, total.element) for x in (a, b))
    return body.add(total, body.mul(wide_a, wide_b))


def round_result(builder: LinalgBuilder, value: Value, result: TensorType) -> Value:
    """The accumulated value in the element type of the result."""
    if value.type.element == result.element:
        return value

    def body(scalars: ScalarBuilder, total: Scalar, _old: Scalar) -> Scalar:
        return scalars.cast(total, result.element)

    return emit_elementwise(builder, [value], result, body, step="round")
