# SPDX-License-Identifier: Apache-2.0
"""Quantized operators: integers with a scale and a zero point."""

from __future__ import annotations

import numpy as np

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant
from xtc.importers.compositions.windows import channels_first
from xtc.importers.onnx.call import Call, whole_axis
from xtc.importers.onnx.narrow import FLOATS, LIMITS, is_narrow, narrow_cast, narrowed, widened
from xtc.importers.onnx.ops.convolution import conv_of
from xtc.importers.onnx.ops.linear import matmul_of
from xtc.importers.onnx.table import reads
from xtc.importers.onnx.types import any_element_name, element_name
from xtc.importers.values import Narrow, Unsupported


def _along(x: Tensor, like: Tensor, axis: int, block: int = 0) -> Tensor:
    """Reshape a scale or zero point to broadcast: per tensor, per axis, or per block."""
    if x.type.size == 1 and x.type.rank <= 1:
        return O.reshape(x, ())
    if block and x.type.rank == like.type.rank:
        axis = whole_axis(axis, like.type.rank)
        sizes, wanted = x.type.sizes, like.type.sizes
        split = (*sizes[: axis + 1], 1, *sizes[axis + 1 :])
        wide = O.expand(O.reshape(x, split), (*sizes[: axis + 1], block, *sizes[axis + 1 :]))
        grown = O.reshape(wide, (*sizes[:axis], sizes[axis] * block, *sizes[axis + 1 :]))
        return O.slice(grown, [0] * len(wanted), list(wanted))
    shape = [1] * like.type.rank
    shape[whole_axis(axis, like.type.rank)] = x.type.size
    return O.reshape(x, tuple(shape))


@reads("QuantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def quantize_linear(call: Call) -> Tensor:
    x, scale, zero = call.tensor(0), call.tensor(1), _wide(call, 2)
    dtype = call.dtype(2) if zero is not None else "uint8"
    if int(call.attribute("output_dtype", 0)):
        dtype = any_element_name(call.attributes["output_dtype"])
    axis, block = int(call.attribute("axis", 1)), int(call.attribute("block_size", 0))
    if not x.element.is_float:
        x = O.cast(x, "float32")
    if x.dtype != scale.dtype:
        x = O.cast(x, scale.dtype)
    factor = _along(scale, x, axis, block)
    return quantized(x, factor, None if zero is None else _along(zero, x, axis, block), dtype)


def quantized(x: Tensor, scale: Tensor, zero: Tensor | None, dtype: str) -> Tensor:
    """round(x / scale) + zero, saturated; narrow floats have no zero point."""
    if not is_narrow(dtype) and ELEMENT_TYPES[dtype].kind != "int":
        raise Unsupported(f"quantization to {dtype}")
    x = x if x.dtype == "float64" else O.cast(x, "float32")
    scale = scale if scale.dtype == x.dtype else O.cast(scale, x.dtype)
    if dtype in FLOATS:
        return narrow_cast(O.div(x, scale), dtype)
    steps = O.round(O.div(x, scale))
    if zero is not None:
        steps = O.add(steps, O.cast(zero, steps.dtype))
    if not is_narrow(dtype):
        return O.cast(steps, dtype)
    low, high = LIMITS[dtype]
    return narrow_cast(O.minimum(O.maximum(steps, float(low)), float(high)), dtype)


def _wide(call: Call, position: int) -> Tensor | None:
    """An operand, widened if its type is narrow; None if it is omitted."""
    if not call.has(position):
        return None
    value = narrowed(call.value(position))
    return widened(value) if isinstance(value, Narrow) else call.tensor(position)


@reads("DequantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def dequantize_linear(call: Call) -> Tensor:
    x, scale, zero = _wide(call, 0), call.tensor(1), _wide(call, 2)
    if x is None:
        raise Unsupported("operand 0 is missing")
    axis, block = int(call.attribute("axis", 1)), int(call.attribute("block_size", 0))
    factor = _along(scale, x, axis, block)
    dtype = scale.dtype
    if int(call.attribute("output_dtype", 0)):
        dtype = element_name(call.attributes["output_dtype"])
    zero = None if zero is None else _along(zero, x, axis, block)
    result = dequantized(x, O.cast(factor, "float32"), zero)
    return result if result.dtype == dtype else O.cast(result, dtype)


def dequantized(x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    """(x - zero) * scale in the type of the scale."""
    if x.element.is_float:
        wide = O.cast(x, scale.dtype)
        return O.mul(wide if zero is None else O.sub(wide, O.cast(zero, scale.dtype)), scale)
    whole = O.cast(x, "int32")
    if zero is not None:
        whole = O.sub(whole, O.cast(zero, "int32"))
    return O.mul(O.cast(whole, scale.dtype), scale)


def _centered(call: Call, position: int, zero: int, *, columns: bool = False) -> Tensor:
    """Integers minus their zero point, as int32."""
    x = O.cast(call.tensor(position), "int32")
    if not call.has(zero):
        return x
    shift = call.tensor(zero)
    if shift.type.size == 1:
        return O.sub(x, O.cast(O.reshape(shift, ()), "int32"))
    if shift.type.rank == 1 and not columns:
        shift = O.reshape(shift, (shift.type.size, 1))
    return O.sub(x, O.cast(shift, "int32"))


@reads("MatMulInteger", 10)
def matmul_integer(call: Call) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    if a.dtype == b.dtype == "int8" and not (call.has(2) or call.has(3)):
        return O.matmul(a, b)  # byte multiply instructions need the operands unchanged
    if call.has(2) and call.tensor(2).type.size == 1 and b.type.rank == 2:
        return integer_matmul(a, call.tensor(2), b, call.optional(3), call.has(3))
    return matmul_of(_centered(call, 0, 2), _centered(call, 1, 3, columns=True))


def integer_matmul(
    a: Tensor, a_zero: Tensor | None, b: Tensor, b_zero: Tensor | None, shifted: bool
) -> Tensor:
    """(a - a_zero) @ (b - b_zero) in int32, as a matmul of signed bytes and corrections.

    `a_zero` is a scalar; `b_zero` is a scalar or has one element per column of the matrix `b`, and
    is ignored unless `shifted`.
    """
    left, right = _signed(a), _signed(b)
    total = O.matmul(left, right)
    by = _shift(a, a_zero)
    if by is not None:
        columns = O.reduce_sum(O.cast(right, "int32"), axes=(b.type.rank - 2,), keepdims=True)
        total = O.add(total, O.mul(columns, by))
    other = _shift(b, b_zero if shifted else None)
    if other is None:
        return total
    rows = O.reduce_sum(O.cast(left, "int32"), axes=(a.type.rank - 1,), keepdims=True)
    if by is not None:
        rows = O.add(rows, O.mul(by, a.type.sizes[-1]))
    return O.add(total, O.mul(rows, other))


def _signed(x: Tensor) -> Tensor:
    """Bytes as int8; unsigned ones minus 128."""
    if x.dtype == "int8":
        return x
    return O.bit_cast(O.bitwise_xor(x, constant(np.asarray(128, np.uint8))), "int8")


def _shift(x: Tensor, zero: Tensor | None) -> Tensor | None:
    """The correction for an operand's signed bytes; None if it is zero."""
    start = 128 if x.dtype == "uint8" else 0
    if zero is None:
        return constant(np.asarray(start, np.int32)) if start else None
    whole = O.cast(O.reshape(zero, ()) if zero.type.size == 1 else zero, "int32")
    return O.sub(start, whole)


@reads("ConvInteger", 10)
def conv_integer(call: Call) -> Tensor:
    return channels_first(_conv(call, 0, 2, 1, 3))


def _conv(call: Call, image: int, image_zero: int, filters: int, filters_zero: int) -> Tensor:
    x = _centered(call, image, image_zero)
    w = O.cast(call.tensor(filters), "int32")
    if call.has(filters_zero):
        zero = O.cast(call.tensor(filters_zero), "int32")
        shape = (zero.type.size, *[1] * (w.type.rank - 1)) if zero.type.size > 1 else ()
        w = O.sub(w, O.reshape(zero, shape))
    return conv_of(call, x, w)


@reads("QLinearMatMul", 10, 21)
def qlinear_matmul(call: Call) -> Tensor:
    total = matmul_of(_centered(call, 0, 2), _centered(call, 3, 5, columns=True))
    a_scale, b_scale = call.tensor(1), call.tensor(4)
    if a_scale.type.rank == 1 and a_scale.type.size > 1:
        a_scale = O.reshape(a_scale, (a_scale.type.size, 1))
    scale = O.mul(_single(a_scale), _single(b_scale))
    return _requantized(call, total, scale, 6)


def _single(x: Tensor) -> Tensor:
    wide = x if x.dtype == "float32" else O.cast(x, "float32")
    return O.reshape(wide, ()) if x.type.size == 1 else wide


def _requantized(call: Call, total: Tensor, scale: Tensor, position: int) -> Tensor:
    """Requantize accumulators to the result's scale and zero point."""
    real = O.mul(O.cast(total, "float32"), scale)
    zero = call.tensor(position + 1)
    return quantized(real, _single(call.tensor(position)), _zero(zero), zero.dtype)


def _zero(x: Tensor) -> Tensor:
    return O.reshape(x, ()) if x.type.size == 1 else x


@reads("QLinearConv", 10)
def qlinear_conv(call: Call) -> Tensor:
    total = _conv(call, 0, 2, 3, 5)
    if call.has(8):
        total = O.add(total, call.tensor(8))
    scale = O.mul(_single(call.tensor(1)), _single(call.tensor(4)))
    return channels_first(_requantized(call, total, scale, 6))


@reads("DynamicQuantizeLinear", 11)
def dynamic_quantize_linear(call: Call) -> list[Tensor]:
    return list(dynamically_quantized(call.tensor(0)))


def dynamically_quantized(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Quantize `x` to uint8 over its range of values; returns the scale and zero point too."""
    low, high = O.minimum(O.reduce_min(x), 0.0), O.maximum(O.reduce_max(x), 0.0)
    scale = O.div(O.sub(high, low), 255.0)
    scale = O.where(O.equal(scale, 0.0), 1.0, scale)
    zero = O.cast(O.round(O.minimum(O.maximum(O.div(O.neg(low), scale), 0.0), 255.0)), "uint8")
    return quantized(x, scale, zero, "uint8"), scale, zero
