# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic, comparisons, logic and conversions, with NumPy's broadcasting."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.tensor import Tensor
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.narrow import is_narrow, narrow_cast, narrowed, widened
from xtc.importers.onnx.table import Writer, reads
from xtc.importers.onnx.types import any_element_name, element_name
from xtc.importers.values import Narrow, Unsupported

UNARY: dict[str, tuple[Callable[..., Tensor], tuple[int, ...]]] = {
    "Abs": (O.abs, (6, 13)),
    "Acos": (O.acos, (7, 22)),
    "Acosh": (O.acosh, (9, 22)),
    "Asin": (O.asin, (7, 22)),
    "Asinh": (O.asinh, (9, 22)),
    "Atan": (O.atan, (7, 22)),
    "Atanh": (O.atanh, (9, 22)),
    "BitwiseNot": (O.bitwise_not, (18,)),
    "Ceil": (O.ceil, (6, 13)),
    "Cos": (O.cos, (7, 22)),
    "Cosh": (O.cosh, (9, 22)),
    "Erf": (O.erf, (9, 13)),
    "Exp": (O.exp, (6, 13)),
    "Floor": (O.floor, (6, 13)),
    "IsNaN": (O.is_nan, (9, 13, 20)),
    "Log": (O.log, (6, 13)),
    "Neg": (O.neg, (6, 13)),
    "Not": (O.logical_not, (1,)),
    "Relu": (O.relu, (6, 13, 14)),
    "Round": (O.round, (11, 22)),
    "Sigmoid": (O.sigmoid, (6, 13)),
    "Sign": (O.sign, (9, 13)),
    "Sin": (O.sin, (7, 22)),
    "Sinh": (O.sinh, (9, 22)),
    "Sqrt": (O.sqrt, (6, 13)),
    "Tan": (O.tan, (7, 22)),
    "Tanh": (O.tanh, (6, 13)),
}
BINARY: dict[str, tuple[Callable[..., Tensor], tuple[int, ...]]] = {
    "Add": (O.add, (7, 13, 14)),
    "And": (O.minimum, (7,)),
    "BitwiseAnd": (O.bitwise_and, (18,)),
    "BitwiseOr": (O.bitwise_or, (18,)),
    "BitwiseXor": (O.bitwise_xor, (18,)),
    "Equal": (O.equal, (7, 11, 13, 19)),
    "Greater": (O.greater, (7, 9, 13)),
    "GreaterOrEqual": (O.greater_equal, (12, 16)),
    "Less": (O.less, (7, 9, 13)),
    "LessOrEqual": (O.less_equal, (12, 16)),
    "Mul": (O.mul, (7, 13, 14)),
    "Or": (O.maximum, (7,)),
    "Sub": (O.sub, (7, 13, 14)),
    "Xor": (O.not_equal, (7,)),
}
VARIADIC: dict[str, tuple[Callable[..., Tensor], tuple[int, ...]]] = {
    "Max": (O.maximum, (6, 8, 12, 13)),
    "Min": (O.minimum, (6, 8, 12, 13)),
    "Sum": (O.add, (6, 8, 13)),
}


def _unary(write: Callable[..., Tensor]) -> Writer:
    return lambda call: write(call.tensor(0))


def _binary(write: Callable[..., Tensor]) -> Writer:
    return lambda call: write(call.tensor(0), call.tensor(1))


def _variadic(write: Callable[..., Tensor]) -> Writer:
    return lambda call: functools.reduce(write, call.tensors())


for _table, _writer in ((UNARY, _unary), (BINARY, _binary), (VARIADIC, _variadic)):
    for _name, (_write, _versions) in _table.items():
        reads(_name, *_versions)(_writer(_write))


@reads("Mean", 6, 8, 13)
def mean(call: Call) -> Tensor:
    total = functools.reduce(O.add, call.tensors())
    return O.div(total, float(len(call.inputs)))


@reads("Div", 7, 13, 14)
def div(call: Call) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    return O.div(a, b) if a.element.is_float else O.trunc_div(a, b)


@reads("Reciprocal", 6, 13)
def reciprocal(call: Call) -> Tensor:
    return O.div(1.0, call.tensor(0))


@reads("Mod", 10, 13, 28)
def mod(call: Call) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    if call.attribute("fmod", 0):
        return O.fmod(a, b)
    if a.element.is_float and call.version < 28:
        raise Unsupported("fmod=0 of floats")
    return O.remainder(a, b)


@reads("Pow", 7, 12, 13, 15)
def pow(call: Call) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    if b.const is not None and b.const.size == 1 and b.type.rank == 0 and a.element.is_float:
        return _power(a, float(b.const.item()), b)
    wide = "float64" if "64" in a.dtype + b.dtype and a.dtype != "float32" else "float32"
    if a.element.is_float:
        return O.pow(a, O.cast(b, a.dtype) if b.dtype != a.dtype else b)
    if not a.element.is_float:
        wide = "float64"
    return O.cast(O.pow(O.cast(a, wide), O.cast(b, wide)), a.dtype)


def _power(a: Tensor, exponent: float, b: Tensor) -> Tensor:
    """A power with a constant exponent, by a multiplication or square root if possible."""
    if exponent == 2:
        return O.mul(a, a)
    if exponent == 0.5:
        return O.sqrt(a)
    return O.pow(a, O.cast(b, a.dtype) if b.dtype != a.dtype else b)


@reads("BitShift", 11, 28)
def bit_shift(call: Call) -> Tensor:
    write = O.shift_left if call.required("direction") == "LEFT" else O.shift_right
    return write(call.tensor(0), call.tensor(1))


@reads("BitCast", 26)
def bit_cast(call: Call) -> Tensor:
    x, dtype = call.tensor(0), element_name(call.required("to"))
    if ELEMENT_TYPES[dtype].bits != x.element.bits or "bool" in (dtype, x.dtype):
        raise Unsupported(f"bits of {x.dtype} as {dtype}")
    return O.bit_cast(x, dtype)


@reads("Where", 9, 16)
def where(call: Call) -> Tensor:
    return O.where(call.tensor(0), call.tensor(1), call.tensor(2))


@reads("IsInf", 10, 20)
def is_inf(call: Call) -> Tensor:
    x = call.tensor(0)
    signs = {
        -1: bool(call.attribute("detect_negative", 1)),
        1: bool(call.attribute("detect_positive", 1)),
    }
    if all(signs.values()):
        return O.is_inf(x)
    if not any(signs.values()):
        return O.not_equal(x, x) if not x.element.is_float else O.less(O.abs(x), -1.0)
    sign = 1 if signs[1] else -1
    return O.equal(x, sign * math.inf)


@reads("Clip", 6, 11, 12, 13)
def clip(call: Call) -> Tensor:
    x = call.tensor(0)
    if call.version == 6:
        low, high = call.attribute("min"), call.attribute("max")
    else:
        low, high = call.optional(1), call.optional(2)
    if low is not None:
        x = O.maximum(x, low)
    if high is not None:
        x = O.minimum(x, high)
    return x if low is not None or high is not None else O.reshape(x, x.shape)


@reads("Cast", 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(call: Call) -> Tensor:
    return _cast(call, any_element_name(call.required("to")))


@reads("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(call: Call) -> Tensor:
    return _cast(call, call.dtype(1))


def _cast(call: Call, dtype: str) -> Tensor:
    given = narrowed(call.value(0))
    if isinstance(given, Narrow) and given.kind == dtype:
        return given
    x = widened(given) if isinstance(given, Narrow) else call.tensor(0)
    if is_narrow(dtype):
        return narrow_cast(x, dtype, saturate=bool(call.attribute("saturate", 1)))
    if dtype not in ELEMENT_TYPES:
        raise Unsupported(f"element type {dtype}")
    return O.cast(x, dtype)


@reads("Dropout", 7, 10, 12, 13, 22)
def dropout(call: Call) -> list[Tensor | np.ndarray | None]:
    x = call.tensor(0)
    if call.has(2) and bool(call.static(2)):
        ratio = float(call.static(1)) if call.has(1) else 0.5
        if ratio != 0:
            raise Unsupported("training_mode, whose result is random")
    mask = np.ones(call.shape(), bool) if call.is_used(1) else None
    return [O.reshape(x, x.shape), mask]
