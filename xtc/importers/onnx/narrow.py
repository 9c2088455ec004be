# SPDX-License-Identifier: Apache-2.0
"""Narrow element types, which graphs lack: carried in integers, one byte per element.

Integers of 4 and 2 bits are carried as values, floats of 8 and 4 bits as bit patterns. Callers
pass and receive ml_dtypes arrays, which also use one byte per element. The 8-bit formats are
those of ONNX's page "Float stored in 8 bits"; float4_e2m1fn is that of the OCP Microscaling
Formats 1.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant
from xtc.importers.values import Array, Narrow, Unsupported, Value

_SIGN = 0x80
_F32_MANTISSA, _F32_BIAS = 23, 127


@dataclass(frozen=True)
class FloatFormat:
    """A narrow floating-point format.

    Attributes:
        mantissa: number of mantissa bits.
        bias: exponent bias.
        sign: the sign bit.
        largest: encoding of the largest finite number.
        infinity: encoding of larger numbers if they do not saturate.
        missing: encoding of NaN.
        has_zero: whether negative zero exists.
    """

    mantissa: int
    bias: int
    sign: int
    largest: int
    infinity: int
    missing: int
    has_zero: bool = True

    @property
    def greatest(self) -> float:
        """The largest finite number."""
        exponent = (self.largest >> self.mantissa) - self.bias
        steps = self.largest & ((1 << self.mantissa) - 1)
        return float((1 + steps / (1 << self.mantissa)) * 2.0**exponent)


FLOATS = {
    "float8_e4m3fn": FloatFormat(3, 7, _SIGN, 0x7E, 0x7F, 0x7F),
    "float8_e4m3fnuz": FloatFormat(3, 8, _SIGN, 0x7F, 0x80, 0x80, has_zero=False),
    "float8_e5m2": FloatFormat(2, 15, _SIGN, 0x7B, 0x7C, 0x7E),
    "float8_e5m2fnuz": FloatFormat(2, 16, _SIGN, 0x7F, 0x80, 0x80, has_zero=False),
    "float4_e2m1fn": FloatFormat(1, 1, 0x8, 0x7, 0x7, 0x8),
}
INTEGERS = {"int4": "int8", "uint4": "uint8", "int2": "int8", "uint2": "uint8"}
LIMITS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


def is_narrow(dtype: str) -> bool:
    """Whether an element type is carried in another."""
    return dtype in FLOATS or dtype in INTEGERS


def carrier(dtype: str) -> str:
    """The element type that carries a narrow one."""
    return INTEGERS.get(dtype, "uint8")


def numpy_type(dtype: str) -> np.dtype[Any]:
    """The NumPy type of an element type, narrow or not."""
    if not is_narrow(dtype):
        return ELEMENT_TYPES[dtype].numpy
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype))
    return found


def carried(array: Array) -> Array:
    """Convert an array of a narrow type to its carrier type; any other array is unchanged."""
    name = array.dtype.name
    if name in FLOATS:
        bits: Array = array.view(np.uint8)
        return bits
    return array.astype(INTEGERS[name]) if name in INTEGERS else array


def shown(array: Array, dtype: str) -> Array:
    """Convert an array in the carrier type back to the narrow type."""
    if dtype in FLOATS:
        floats: Array = array.view(numpy_type(dtype))
        return floats
    return array.astype(numpy_type(dtype))


def narrow(bits: Tensor, kind: str) -> Narrow:
    """The tensor of type `kind` that `bits` carries."""
    return Narrow(None, bits.type, bits=bits, kind=kind)


def narrowed(value: Value) -> Value:
    """A constant of a narrow type as a narrow tensor; any other value unchanged."""
    if isinstance(value, np.ndarray) and is_narrow(value.dtype.name) and value.size:
        return narrow(constant(np.ascontiguousarray(carried(value))), value.dtype.name)
    return value


def widened(x: Narrow) -> Tensor:
    """Convert to a wide type: integers to their carrier type, floats to float32."""
    if x.kind in INTEGERS:
        return x.bits
    every = np.arange(1 << (8 if FLOATS[x.kind].sign == _SIGN else 4), dtype=np.uint8)
    table = every.view(numpy_type(x.kind)).astype(np.float32)
    return O.gather(constant(table), O.cast(x.bits, "int32"))


def narrow_cast(x: Tensor, kind: str, *, saturate: bool = True) -> Narrow:
    """Convert to a narrow type; floats round to nearest, ties to even."""
    if kind in INTEGERS:
        return narrow(_integers(x, kind), kind)
    if kind not in FLOATS:
        raise Unsupported(f"element type {kind}")
    return narrow(_float_bits(O.cast(x, "float32"), FLOATS[kind], saturate), kind)


def _integers(x: Tensor, kind: str) -> Tensor:
    """Truncate to the low bits, sign-extended for signed types."""
    low, high = LIMITS[kind]
    bits = O.bitwise_and(x if x.dtype == "int32" else O.cast(x, "int32"), high - low)
    if low:
        bits = O.add(O.bitwise_xor(bits, -low), low)
    return O.cast(bits, INTEGERS[kind])


def _float_bits(x: Tensor, to: FloatFormat, saturate: bool) -> Tensor:
    """The encoding of the magnitude: the exponent sets the spacing, the mantissa counts steps."""
    # Clamped numbers stay above the largest finite one, and infinity becomes finite.
    size = O.minimum(O.abs(x), 4.0 * to.greatest)
    least = 1 - to.bias
    bits = O.shift_right(O.bit_cast(size, "int32"), _F32_MANTISSA)
    exponent = O.maximum(O.sub(bits, _F32_BIAS), least)
    factor = O.shift_left(O.add(O.neg(exponent), _F32_BIAS + to.mantissa), _F32_MANTISSA)
    steps = O.cast(O.round(O.mul(size, O.bit_cast(factor, "float32"))), "int32")
    code = O.add(O.shift_left(O.sub(exponent, least), to.mantissa), steps)
    beyond = to.largest if saturate else to.infinity
    code = O.where(O.greater(code, to.largest), beyond, code)
    return O.cast(_signed(x, code, to), "uint8")


def _signed(x: Tensor, code: Tensor, to: FloatFormat) -> Tensor:
    """Add the sign bit, and encode NaN."""
    negative = O.less(O.bit_cast(x, "int32"), 0)
    with_sign = O.where(negative, O.bitwise_or(code, to.sign), code)
    if not to.has_zero:
        with_sign = O.where(O.equal(code, 0), 0, with_sign)
    return O.where(O.is_nan(x), to.missing, with_sign)
