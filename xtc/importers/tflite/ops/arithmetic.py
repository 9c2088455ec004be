# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import same
from xtc.importers.tflite.call import Call, Limits, integer_limits, limited, limits_of, tabulated
from xtc.importers.tflite.table import reads
from xtc.importers.values import Unsupported

_MORE_BITS = 7  # extra bits for the operands of a squared difference
Binary = Callable[[Tensor, Tensor], Tensor]


def _binary(call: Call, options: str, real: Binary, whole: Callable[..., Tensor] | None) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    limits: Limits = limits_of(call.options(options).FusedActivationFunction())
    if a.dtype != b.dtype:
        raise Unsupported(f"operands of {a.dtype} and {b.dtype}")
    if a.element.is_float or a.dtype in ("int32", "int64"):
        if not a.element.is_float and limits != (None, None):
            raise Unsupported(f"an activation of {a.dtype}")
        return limited(real(a, b), limits)
    if whole is None or not call.quantized:
        raise Unsupported(f"operands of {a.dtype}")
    y = call.result_scale
    low, high = integer_limits(limits, y)
    return whole(a, b, (call.scale(0), call.scale(1), y), low=low, high=high)


@reads("ADD")
def add(call: Call) -> Tensor:
    return _binary(call, "AddOptions", O.add, O.quantized_add)


@reads("SUB")
def sub(call: Call) -> Tensor:
    return _binary(call, "SubOptions", O.sub, O.quantized_sub)


@reads("MUL")
def mul(call: Call) -> Tensor:
    return _binary(call, "MulOptions", O.mul, _product)


def _product(
    a: Tensor,
    b: Tensor,
    scales: tuple[O.Quantization, O.Quantization, O.Quantization],
    *,
    low: int,
    high: int,
) -> Tensor:
    """Quantized multiplication; the rescaling factor is computed in float32."""
    qa, qb, qy = (np.float32(q.scale) for q in scales)
    factor = float(qa * qb / qy)
    points = [q.zero_point for q in scales]
    exact = O.Quantization(factor, points[0]), O.Quantization(1.0, points[1])
    return O.quantized_mul(a, b, (*exact, O.Quantization(1.0, points[2])), low=low, high=high)


@reads("DIV")
def div(call: Call) -> Tensor:
    if not call.tensor(0).element.is_float:
        raise Unsupported("quotients of integers")
    return _binary(call, "DivOptions", O.div, None)


def _extremum(call: Call, write: Binary) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    if a.dtype == "int8" and not (call.scale(0) == call.scale(1) == call.result_scale):
        raise Unsupported("operands and result of different scales")
    return write(a, b)


@reads("MAXIMUM")
def maximum(call: Call) -> Tensor:
    return _extremum(call, O.maximum)


@reads("MINIMUM")
def minimum(call: Call) -> Tensor:
    return _extremum(call, O.minimum)


def _unary(name: str, write: Callable[[Tensor], Tensor]) -> None:
    @reads(name)
    def read(call: Call) -> Tensor:
        x = call.tensor(0)
        if x.dtype == "int8" and name in _TABULATED:
            return O.lookup(x, tabulated(call, _TABULATED[name]))
        if x.dtype == "int8" and name == "ABS":
            return _absolute(call, x)
        if not x.element.is_float:
            raise Unsupported(f"an operand of {x.dtype}")
        return write(x)


def _absolute(call: Call, x: Tensor) -> Tensor:
    q, y = call.scale(0), call.result_scale
    steps = O.abs(O.sub(O.cast(x, "int32"), q.zero_point))
    if q.scale == y.scale:
        whole = O.add(steps, y.zero_point)
        return O.cast(O.minimum(O.maximum(whole, -128), 127), "int8")
    factor = float(np.float32(q.scale) / np.float32(y.scale))
    return O.requantize(steps, factor, zero_point=y.zero_point)


_TABULATED: dict[str, Callable[[Any], Any]] = {"EXP": np.exp, "LOG": np.log}
for _name, _write in (
    ("EXP", O.exp),
    ("LOG", O.log),
    ("SQRT", O.sqrt),
    ("RSQRT", O.rsqrt),
    ("ABS", O.abs),
    ("NEG", O.neg),
    ("FLOOR", O.floor),
    ("CEIL", O.ceil),
    ("ROUND", O.round),
    ("SIN", O.sin),
    ("COS", O.cos),
    ("GELU", O.gelu),
    ("SIGN", O.sign),
):
    _unary(_name, _write)


@reads("SQUARED_DIFFERENCE")
def squared_difference(call: Call) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    if a.dtype == b.dtype == "int8" and call.quantized:
        return _squared_difference(call, a, b)
    if not (a.element.is_float and b.element.is_float):
        raise Unsupported(f"operands of {a.dtype} and {b.dtype}")
    difference = O.sub(a, b)
    return O.mul(difference, difference)


def _squared_difference(call: Call, a: Tensor, b: Tensor) -> Tensor:
    """In steps of twice the larger scale, with 7 extra bits."""
    p, q, y = call.scale(0), call.scale(1), call.result_scale
    twice = 2 * float(max(np.float32(p.scale), np.float32(q.scale)))
    wide = [
        O.requantize(
            O.mul(O.sub(O.cast(x, "int32"), given.zero_point), 1 << _MORE_BITS),
            given.scale / twice,
            dtype="int32",
        )
        for x, given in ((a, p), (b, q))
    ]
    difference = O.sub(*wide)
    factor = twice * twice / ((1 << 2 * _MORE_BITS) * y.scale)
    return O.requantize(O.mul(difference, difference), factor, zero_point=y.zero_point)


@reads("POW")
def pow(call: Call) -> Tensor:
    return O.pow(call.tensor(0), call.tensor(1))


@reads("CAST")
def cast(call: Call) -> Tensor:
    if call.operand(0).is_unsigned or call.results[0].is_unsigned:
        raise Unsupported("uint8 with a scale")
    return O.cast(call.tensor(0), call.results[0].dtype)


@reads("SQUARE")
def square(call: Call) -> Tensor:
    x = call.tensor(0)
    if not x.element.is_float:
        raise Unsupported(f"an operand of {x.dtype}")
    return O.mul(x, x)


@reads("ADD_N")
def add_n(call: Call) -> Tensor:
    total = call.tensor(0)
    if not (total.element.is_float or total.dtype == "int32"):
        raise Unsupported(f"operands of {total.dtype}")
    for position in range(1, call.count):
        total = O.add(total, call.tensor(position))
    return total if call.count > 1 else same(total)


@reads("FLOOR_DIV")
def floor_div(call: Call) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    if a.element.is_float:
        return O.floor(O.div(a, b))
    if a.dtype not in ("int32", "int64"):
        raise Unsupported(f"operands of {a.dtype}")
    return O.trunc_div(O.sub(a, O.remainder(a, b)), b)


@reads("FLOOR_MOD")
def floor_mod(call: Call) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    if not (a.element.is_float or a.dtype in ("int32", "int64")):
        raise Unsupported(f"operands of {a.dtype}")
    return O.remainder(a, b)


@reads("CUMSUM")
def cumsum(call: Call) -> Tensor:
    options, x = call.options("CumsumOptions"), call.tensor(0)
    if not (x.element.is_float or x.dtype in ("int32", "int64")):
        raise Unsupported(f"an operand of {x.dtype}")
    exclusive, reverse = bool(options.Exclusive()), bool(options.Reverse())
    return O.cumsum(x, axis=call.ints(1)[0], exclusive=exclusive, reverse=reverse)
