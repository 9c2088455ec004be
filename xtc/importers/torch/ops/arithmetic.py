# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators, with PyTorch's type promotion."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, expanded, same
from xtc.importers.torch.table import RESULT, writes
from xtc.importers.torch.types import element_name
from xtc.importers.values import Unsupported


def result_type() -> str:
    """The element type of the result of the current node."""
    dtype = RESULT.get()
    if dtype is None:
        raise Unsupported("a result of unknown type")
    return dtype


def operand(x: Any, dtype: str) -> Tensor:
    """A tensor or number as a tensor of the given element type."""
    if isinstance(x, Tensor):
        return x if x.dtype == dtype else O.cast(x, dtype)
    return constant(np.asarray(x).astype(ELEMENT_TYPES[dtype].numpy))


def common_type(*operands: Any) -> str:
    """PyTorch's promoted type of the operands."""
    examples = [
        torch.empty((1,) * x.type.rank, dtype=getattr(torch, x.dtype))
        if isinstance(x, Tensor)
        else x
        for x in operands
    ]
    found = examples[0]
    for other in examples[1:]:
        found = torch.empty((1,), dtype=torch.result_type(found, other))
    return element_name(found.dtype)


def _unary(write: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, **_: write(operand(x, result_type()))


_UNARY: dict[str, Callable[..., Tensor]] = {
    "abs": O.abs,
    "acos": O.acos,
    "acosh": O.acosh,
    "asin": O.asin,
    "asinh": O.asinh,
    "atan": O.atan,
    "atanh": O.atanh,
    "ceil": O.ceil,
    "cos": O.cos,
    "cosh": O.cosh,
    "erf": O.erf,
    "exp": O.exp,
    "floor": O.floor,
    "log": O.log,
    "neg": O.neg,
    "relu": O.relu,
    "round": O.round,
    "rsqrt": O.rsqrt,
    "sigmoid": O.sigmoid,
    "sign": O.sign,
    "silu": O.silu,
    "sin": O.sin,
    "sinh": O.sinh,
    "sqrt": O.sqrt,
    "tan": O.tan,
    "tanh": O.tanh,
    "trunc": O.trunc,
}
for _name, _write in _UNARY.items():
    writes(_name)(_unary(_write))


def _binary(write: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def written(a: Any, b: Any) -> Tensor:
        dtype = result_type()
        return write(operand(a, dtype), operand(b, dtype))

    return written


_BINARY: dict[str, Callable[..., Tensor]] = {
    "__lshift__": O.shift_left,
    "__rshift__": O.shift_right,
    "bitwise_and": O.bitwise_and,
    "bitwise_left_shift": O.shift_left,
    "bitwise_or": O.bitwise_or,
    "bitwise_right_shift": O.shift_right,
    "bitwise_xor": O.bitwise_xor,
    "fmod": O.fmod,
    "maximum": O.maximum,
    "minimum": O.minimum,
    "pow": O.pow,
    "remainder": O.remainder,
}
for _name, _write in _BINARY.items():
    writes(f"{_name}.Tensor", f"{_name}.Scalar", _name)(_binary(_write))


def _comparison(write: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def written(a: Any, b: Any) -> Tensor:
        dtype = common_type(a, b)
        return write(operand(a, dtype), operand(b, dtype))

    return written


@writes("mul.Tensor", "mul.Scalar")
def mul(a: Any, b: Any) -> Tensor:
    dtype = result_type()
    write = O.minimum if dtype == "bool" else O.mul
    return write(operand(a, dtype), operand(b, dtype))


_COMPARISONS: dict[str, Callable[..., Tensor]] = {
    "eq": O.equal,
    "ge": O.greater_equal,
    "gt": O.greater,
    "le": O.less_equal,
    "lt": O.less,
    "ne": O.not_equal,
}
for _name, _write in _COMPARISONS.items():
    writes(f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_write))


@writes("add.Tensor", "add.Scalar")
def add(a: Any, b: Any, alpha: float = 1) -> Tensor:
    return _scaled(O.add, a, b, alpha)


@writes("sub.Tensor", "sub.Scalar")
def sub(a: Any, b: Any, alpha: float = 1) -> Tensor:
    return _scaled(O.sub, a, b, alpha)


def _scaled(write: Callable[..., Tensor], a: Any, b: Any, alpha: float) -> Tensor:
    dtype = result_type()
    second = operand(b, dtype)
    if dtype == "bool" and write is O.add and alpha:
        return O.maximum(operand(a, dtype), second)
    if dtype == "bool":
        raise Unsupported("a difference of bool")
    if alpha != 1:
        second = O.mul(second, operand(alpha, dtype))
    return write(operand(a, dtype), second)


@writes("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode")
def div(a: Any, b: Any, rounding_mode: str | None = None) -> Tensor:
    dtype = result_type()
    x, y = operand(a, dtype), operand(b, dtype)
    if x.element.is_float:
        quotient = O.div(x, y)
        if rounding_mode is None:
            return quotient
        return O.floor(quotient) if rounding_mode == "floor" else O.trunc(quotient)
    if rounding_mode == "trunc":
        return O.trunc_div(x, y)
    return O.trunc_div(O.sub(x, O.remainder(x, y)), y)


@writes("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def power(a: Any, b: Any) -> Tensor:
    dtype = result_type()
    x = operand(a, dtype)
    if b == 2:
        return O.mul(x, x)
    if b == 0.5:
        return O.sqrt(x)
    if b == 3:
        return O.mul(O.mul(x, x), x)
    if x.element.is_float:
        return O.pow(x, operand(b, dtype))
    return O.cast(O.pow(operand(a, "float64"), operand(b, "float64")), dtype)


@writes("reciprocal")
def reciprocal(x: Tensor) -> Tensor:
    return O.div(1.0, operand(x, result_type()))


@writes("rsub.Scalar", "rsub.Tensor")
def rsub(a: Any, b: Any, alpha: float = 1) -> Tensor:
    return _scaled(O.sub, b, a, alpha)


@writes("expm1")
def expm1(x: Tensor) -> Tensor:
    return O.sub(O.exp(operand(x, result_type())), 1.0)


@writes("log1p")
def log1p(x: Tensor) -> Tensor:
    return O.log(O.add(operand(x, result_type()), 1.0))


@writes("log2")
def log2(x: Tensor) -> Tensor:
    return O.mul(O.log(operand(x, result_type())), 1 / math.log(2))


@writes("log10")
def log10(x: Tensor) -> Tensor:
    return O.mul(O.log(operand(x, result_type())), 1 / math.log(10))


@writes("clamp", "clamp.Tensor", "hardtanh")
def clamp(x: Tensor, low: Any = None, high: Any = None, **more: Any) -> Tensor:
    dtype = result_type()
    low, high = more.get("min", low), more.get("max", high)
    value = operand(x, dtype)
    if low is not None:
        value = O.maximum(value, operand(low, dtype))
    if high is not None:
        value = O.minimum(value, operand(high, dtype))
    return value


@writes("gelu")
def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    return O.gelu(x, approximate=approximate)


@writes("leaky_relu")
def leaky_relu(x: Tensor, slope: float = 0.01, **more: Any) -> Tensor:
    return O.leaky_relu(x, slope=more.get("negative_slope", slope))


@writes("elu")
def elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    below = O.mul(O.sub(O.exp(O.minimum(O.mul(x, input_scale), 0.0)), 1.0), alpha * scale)
    return O.where(O.greater(x, 0.0), O.mul(x, scale), below)


@writes("hardsigmoid")
def hardsigmoid(x: Tensor) -> Tensor:
    return O.div(O.minimum(O.maximum(O.add(x, 3.0), 0.0), 6.0), 6.0)


@writes("hardswish")
def hardswish(x: Tensor) -> Tensor:
    return O.mul(x, hardsigmoid(x))


@writes("bitwise_not")
def bitwise_not(x: Tensor) -> Tensor:
    return O.logical_not(x) if x.element.kind == "bool" else O.bitwise_not(x)


@writes("logical_not")
def logical_not(x: Tensor) -> Tensor:
    return O.logical_not(operand(x, "bool"))


@writes("logical_and")
def logical_and(a: Tensor, b: Tensor) -> Tensor:
    return O.minimum(operand(a, "bool"), operand(b, "bool"))


@writes("logical_or")
def logical_or(a: Tensor, b: Tensor) -> Tensor:
    return O.maximum(operand(a, "bool"), operand(b, "bool"))


@writes("logical_xor")
def logical_xor(a: Tensor, b: Tensor) -> Tensor:
    return O.not_equal(operand(a, "bool"), operand(b, "bool"))


@writes("fmax")
def fmax(a: Any, b: Any) -> Tensor:
    return _without_nan(O.maximum, a, b)


@writes("fmin")
def fmin(a: Any, b: Any) -> Tensor:
    return _without_nan(O.minimum, a, b)


def _without_nan(write: Callable[..., Tensor], a: Any, b: Any) -> Tensor:
    """The other operand if one is NaN, otherwise the result of `write`."""
    x, y = operand(a, result_type()), operand(b, result_type())
    if not x.element.is_float:
        return write(x, y)
    return O.where(O.is_nan(x), y, O.where(O.is_nan(y), x, write(x, y)))


@writes("exp2")
def exp2(x: Tensor) -> Tensor:
    return O.pow(operand(2.0, result_type()), operand(x, result_type()))


@writes("isnan")
def isnan(x: Tensor) -> Tensor:
    return O.is_nan(x)


@writes("isinf")
def isinf(x: Tensor) -> Tensor:
    return O.is_inf(x)


@writes("where.self")
def where(condition: Tensor, a: Any, b: Any) -> Tensor:
    dtype = result_type()
    return O.where(operand(condition, "bool"), operand(a, dtype), operand(b, dtype))


@writes("_to_copy", "to.dtype", "clone", "alias", "detach", "lift_fresh_copy")
def copy(x: Tensor, *_: Any, **__: Any) -> Tensor:
    dtype = result_type()
    return same(x) if x.dtype == dtype else O.cast(x, dtype)


@writes("copy")
def copied(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    """`source` converted to the type and shape of `x`."""
    return expanded(operand(source, result_type()), x.type.sizes)


@writes("fill.Scalar", "full_like", "zeros_like")
def full_like(x: Tensor, value: float = 0, **_: Any) -> Tensor:
    return filled(x.type.sizes, value)


@writes("ones_like")
def ones_like(x: Tensor, **_: Any) -> Tensor:
    return filled(x.type.sizes, 1)


def filled(shape: Any, value: Any) -> Tensor:
    """A constant tensor filled with one value."""
    dtype = ELEMENT_TYPES[result_type()].numpy
    return constant(np.full(tuple(shape), value).astype(dtype))


@writes("full", "empty.memory_format", "zeros")
def full(shape: Any, value: Any = 0, *_: Any, **__: Any) -> Tensor:
    return filled(shape, value)


@writes("scalar_tensor")
def scalar_tensor(value: Any, **_: Any) -> Tensor:
    return filled((), value)


@writes("arange.start_step")
def arange(start: Any, end: Any, step: Any = 1, **_: Any) -> Tensor:
    return constant(np.arange(start, end, step).astype(ELEMENT_TYPES[result_type()].numpy))


@writes("atan2")
def atan2(y: Tensor, x: Tensor) -> Tensor:
    """The angle of (x, y): atan of the smaller over the larger magnitude, mapped to its octant."""
    y, x = (operand(value, result_type()) for value in (y, x))
    width, height = O.abs(x), O.abs(y)
    longer = O.maximum(width, height)
    slope = O.div(O.minimum(width, height), O.where(O.equal(longer, 0.0), 1.0, longer))
    angle = O.atan(slope)
    angle = O.where(O.greater(height, width), O.sub(math.pi / 2, angle), angle)
    angle = O.where(O.less(x, 0.0), O.sub(math.pi, angle), angle)
    return O.where(O.less(y, 0.0), O.neg(angle), angle)


@writes("_cdist_forward")
def distances(a: Tensor, b: Tensor, p: float, mode: int | None) -> Tensor:
    """Pairwise distances between the rows of `a` and of `b`."""
    if p not in (1.0, 2.0):
        raise Unsupported(f"distances of norm {p}")
    left = O.reshape(a, (*a.type.sizes[:-1], 1, a.type.sizes[-1]))
    right = O.reshape(b, (*b.type.sizes[:-2], 1, *b.type.sizes[-2:]))
    apart = O.sub(left, right)
    axis = (apart.type.rank - 1,)
    if p == 1:
        return O.reduce_sum(O.abs(apart), axes=axis)
    return O.sqrt(O.reduce_sum(O.mul(apart, apart), axes=axis))
