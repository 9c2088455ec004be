# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on run-time scalars and register tiles, as operations of `arith` and `math`.

Both are `Data`: an SSA value, an element type and a shape, which is empty for a scalar. Operands of
different types are promoted to the wider type, a Python number takes the type of the other operand,
and shapes are broadcast as in NumPy.
"""

from __future__ import annotations

import math as numbers
import sys
from collections.abc import Callable, Sequence
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.ir.mlir import (
    FloatAttr,
    IntegerAttr,
    IntegerType,
    RankedTensorType,
    Type,
    Value,
    arith,
    tensor,
)
from xtc.ir.mlir_math import math
from xtc.tile.types import DataType, boolean, float32, int8, int32, int64, require_type, uint8
from xtc.tile.values.methods import method
from xtc.tile.values.runtime import Data, RegisterTensor, Scalar
from xtc.tile.values.small_floats import decoded, encoded, refuse_codes

Number = int | float | bool

_FLOAT: dict[str, Callable[..., Value]] = {
    "add": arith.addf,
    "sub": arith.subf,
    "mul": arith.mulf,
    "truediv": arith.divf,
    "mod": arith.remf,
    "max": arith.maximumf,
    "min": arith.minimumf,
    "pow": math.powf,
    "atan2": math.atan2,
}
_SIGNED: dict[str, Callable[..., Value]] = {
    "add": arith.addi,
    "sub": arith.subi,
    "mul": arith.muli,
    "floordiv": arith.divsi,
    "mod": arith.remsi,
    "max": arith.maxsi,
    "min": arith.minsi,
    "and": arith.andi,
    "or": arith.ori,
    "xor": arith.xori,
    "lshift": arith.shli,
    "rshift": arith.shrsi,
}
_UNSIGNED = {
    **_SIGNED,
    "floordiv": arith.divui,
    "mod": arith.remui,
    "max": arith.maxui,
    "min": arith.minui,
    "rshift": arith.shrui,
}
_COMPARISONS = {
    # name: of floats, of signed and of unsigned integers
    "lt": ("OLT", "slt", "ult"),
    "le": ("OLE", "sle", "ule"),
    "gt": ("OGT", "sgt", "ugt"),
    "ge": ("OGE", "sge", "uge"),
    "eq": ("OEQ", "eq", "eq"),
    "ne": ("UNE", "ne", "ne"),
}
_UNARY: dict[str, Callable[..., Value]] = {
    "exp": math.exp,
    "exp2": math.exp2,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "rsqrt": math.rsqrt,
    "round": math.roundeven,
    "floor": math.floor,
    "ceil": math.ceil,
    "tanh": math.tanh,
    "sin": math.sin,
    "cos": math.cos,
    "erf": math.erf,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "log10": math.log10,
}


@method("binary")
def binary(name: str, a: Any, b: Any) -> Data:
    """`a <name> b`, elementwise. Raises UserError for incompatible types or shapes."""
    left, right = together(a, b, name)
    dtype = left.dtype
    refuse_codes(dtype, name)
    if dtype.is_packed:
        return cast(binary(name, _as_byte(left), _as_byte(right)), dtype)  # type: ignore[no-any-return]
    if name in _COMPARISONS:
        return _compared(name, left, right)
    if dtype.kind == "bool" and name in ("max", "min"):
        name = "or" if name == "max" else "and"
    if dtype.kind == "bool" and name not in ("and", "or", "xor"):
        return binary(name, cast(left, int32), cast(right, int32))
    table = _FLOAT if dtype.is_float() else _SIGNED if dtype.signed else _UNSIGNED
    if name == "floordiv" and dtype.is_float():
        return unary("floor", binary("truediv", left, right))
    if name == "truediv" and not dtype.is_float():
        name = "floordiv"  # as in C
    if name not in table:
        other = int32 if dtype.is_float() else float32
        raise UserError(
            f"{name} does not take values of type {dtype}",
            hints=[f"convert it first: self.cast(x, dtype={other})"],
        )
    if name in ("floordiv", "mod") and not dtype.is_float():
        return _divided(name, table, left, right, b)
    if name in ("lshift", "rshift"):
        return _shifted(name, table, left, right, b)
    return _like(left, table[name](left.value, right.value))


def _divided(
    name: str, table: dict[str, Callable[..., Value]], left: Data, right: Data, divisor: Any
) -> Data:
    """Integer quotient or remainder; 0 for a divisor of 0, which is undefined in `arith`."""
    if isinstance(divisor, Number) and divisor == 0:
        raise UserError(
            f"{left.dtype} division by 0",
            hints=["the divisor is a constant: use another number"],
        )
    if isinstance(divisor, Number) and divisor > 0:
        return _like(left, table[name](left.value, right.value))
    is_zero = unsafe = binary("eq", right, 0)
    if left.dtype.signed:  # the quotient of the least integer and -1 wraps
        least = binary("eq", left, left.dtype.least)
        unsafe = binary("or", is_zero, binary("and", least, binary("eq", right, -1)))
    found = _like(left, table[name](left.value, select(unsafe, 1, right).value))
    return select(is_zero, 0, found) if name == "floordiv" else found


def _shifted(
    name: str, table: dict[str, Callable[..., Value]], left: Data, right: Data, amount: Any
) -> Data:
    """A shift; all bits are shifted out where the amount, which is unsigned, is the width or more:
    undefined in `arith`."""
    bits = left.dtype.bits
    if isinstance(amount, Number) and 0 <= amount < bits:
        return _like(left, table[name](left.value, right.value))
    is_far = binary("ge", right, bits)
    if left.dtype.signed:
        is_far = binary("or", is_far, binary("lt", right, 0))
    found = _like(left, table[name](left.value, select(is_far, bits - 1, right).value))
    keeps_sign = name == "rshift" and left.dtype.signed
    return found if keeps_sign else select(is_far, 0, found)


@method("unary")
def unary(name: str, a: Any) -> Data:
    """Apply a function to each element. Raises UserError for an unsupported type."""
    value = data(a)
    refuse_codes(value.dtype, name)
    if value.dtype.is_packed:
        return cast(unary(name, _as_byte(value)), value.dtype)  # type: ignore[no-any-return]
    if name == "neg":
        return binary("sub", 0, value) if not value.dtype.is_float() else _negated(value)
    if name == "abs":
        make = math.absf if value.dtype.is_float() else math.absi
        return _like(value, make(value.value))
    if name == "not":
        return binary("eq", value, 0)
    if name == "invert":
        return binary("xor", value, True if value.dtype.kind == "bool" else -1)
    if not value.dtype.is_float():
        raise UserError(
            f"{name} does not take values of type {value.dtype}", hints=["cast to float32 first"]
        )
    if name == "rsqrt" and value.dtype.is_any_float16():  # two roundings
        return cast(unary(name, cast(value, float32)), value.dtype)  # type: ignore[no-any-return]
    return _like(value, _UNARY[name](value.value))


@method("select")
def select(condition: Any, a: Any, b: Any) -> Data:
    """`a` where the condition holds, else `b`."""
    left, right = together(a, b, "where")
    chosen = data(condition)
    if chosen.dtype.kind != "bool":
        chosen = binary("ne", chosen, 0)
    shape = broadcast_shape("where", chosen.shape, left.shape)
    if chosen.shape:
        chosen = spread(chosen, shape)
    left, right = spread(left, shape), spread(right, shape)
    return _like(left, arith.select(chosen.value, left.value, right.value))


@method("cast")
def cast(a: Any, dtype: DataType) -> Any:
    """The value in another type, as C converts; a constant for a number."""
    require_type(dtype)
    if not isinstance(a, Data):
        if dtype.is_coded or dtype.is_packed or dtype.name == "tfloat32":
            plain = float32 if dtype.is_float() else int32
            return cast(Scalar(_constant(a, plain), plain), dtype)
        return Scalar(_constant(a, dtype), dtype)
    if a.dtype == dtype:
        return a
    if a.dtype.is_coded:
        return cast(decoded(a), dtype)
    if dtype.is_coded:
        return encoded(cast(a, float32), dtype)
    if a.dtype.is_packed:
        return cast(_as_byte(a), dtype)
    if dtype.is_packed:
        return _narrowed(cast(a, int8 if dtype.signed else uint8), dtype)
    if dtype.name == "tfloat32":
        return _rounded_to_tf32(cast(a, float32), dtype)
    if a.dtype.name == "tfloat32":
        return cast(_made(a.value, float32, a.shape), dtype)
    if dtype.kind == "bool":
        return binary("ne", a, 0)
    if a.dtype.is_float() and dtype.is_float() and a.dtype.bits == dtype.bits:
        a = cast(a, float32)  # float16 and bfloat16
    return _made(_converted(a, dtype), dtype, a.shape)


def _as_byte(a: Data) -> Data:
    """The byte that holds an integer of fewer than 8 bits."""
    return _made(a.value, int8 if a.dtype.signed else uint8, a.shape)


def _narrowed(a: Data, dtype: DataType) -> Data:
    """The lowest bits of a byte, sign-extended: the value of a narrower integer."""
    unused = a.dtype.bits - dtype.bits
    kept = binary("rshift", binary("lshift", a, unused), unused)
    return _made(kept.value, dtype, a.shape)


_TF32_DROPPED = 13  # bits of a float32's mantissa


def _rounded_to_tf32(a: Data, dtype: DataType) -> Data:
    """The nearest tfloat32 number, ties away from zero (cvt.rna)."""
    bits = arith.bitcast(_shaped(int32, a), a.value)
    half = binary("add", _made(bits, int32, a.shape), 1 << (_TF32_DROPPED - 1))
    kept = binary("and", half, -(1 << _TF32_DROPPED))
    rounded = _made(arith.bitcast(_shaped(float32, a), kept.value), float32, a.shape)
    is_number = binary("eq", binary("sub", a, a), 0.0)  # and not infinite
    return _made(select(is_number, rounded, a).value, dtype, a.shape)


def data(a: Any, like: DataType | None = None) -> Data:
    """Convert a number to a value of type `like` if it fits, else int32 or float32."""
    if isinstance(a, Data):
        return a
    if like is not None and (like.is_coded or like.is_packed) and isinstance(a, int | float):
        return data(cast(a, like))
    if not isinstance(a, int | float | bool):
        raise UserError(
            f"{a!r} is not a value of a kernel",
            hints=["numbers and tiles are: load_shared and load_global load a tile of a tensor"],
        )
    own = boolean if isinstance(a, bool) else float32 if isinstance(a, float) else _integer(a)
    if like is None or (own.is_float() and not like.is_float()) or like.kind == "bool":
        return Scalar(_constant(a, own), own)
    return Scalar(_constant(a, like), like)


def together(a: Any, b: Any, name: str) -> tuple[Data, Data]:
    """Convert two operands to a common type and shape."""
    left = data(a, b.dtype if isinstance(b, Data) else None)
    right = data(b, left.dtype)
    dtype = _wider(left.dtype, right.dtype)
    shape = broadcast_shape(name, left.shape, right.shape)
    return spread(cast(left, dtype), shape), spread(cast(right, dtype), shape)


def broadcast_shape(name: str, a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The shape of both operands after broadcasting. Raises UserError."""
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)
    if any(m != n and 1 not in (m, n) for m, n in zip(left, right, strict=True)):
        raise UserError(
            f"{name}: shapes {list(a)} and {list(b)} cannot be broadcast",
            notes=["sizes must be equal, or one of them 1"],
            hints=["self.unsqueeze(x, dim=...) adds a dimension of size 1"],
        )
    return tuple(max(m, n) for m, n in zip(left, right, strict=True))


def spread(value: Data, shape: Sequence[int]) -> Data:
    """Broadcast the value to a larger shape."""
    if tuple(value.shape) == tuple(shape):
        return value
    type = tile.tile_type(shape, value.dtype_mlir)
    if not value.shape:
        return _made(tensor.splat(type, value.value, []), value.dtype, shape)
    if len(value.shape) < len(shape):
        value = reshaped(value, (1,) * (len(shape) - len(value.shape)) + tuple(value.shape))
        return spread(value, shape)
    return _made(tile.broadcast(value.value, type), value.dtype, shape)


def reshaped(value: Data, shape: Sequence[int]) -> Data:
    """The same elements in another shape. Raises UserError if the number of elements differs."""
    if numbers.prod(shape) != numbers.prod(value.shape):
        raise UserError(
            f"a tile of shape {list(value.shape)} cannot have shape {list(shape)}",
            hints=["the number of elements stays the same"],
        )
    if tuple(shape) == tuple(value.shape):
        return value
    type = tile.tile_type(shape, value.dtype_mlir)
    return _made(tile.reshape(value.value, type), value.dtype, shape)


def mlir_type(text: str) -> Type:
    """MLIR's type of an element."""
    return Type.parse(text)


def _compared(name: str, left: Data, right: Data) -> Data:
    predicate = _COMPARISONS[name]
    if left.dtype.is_float():
        made = arith.cmpf(arith.CmpFPredicate[predicate[0]], left.value, right.value)
    else:
        which = predicate[1 if left.dtype.signed else 2]
        made = arith.cmpi(arith.CmpIPredicate[which], left.value, right.value)
    return _made(made, boolean, left.shape)


def _negated(value: Data) -> Data:
    return _like(value, arith.negf(value.value))


def _converted(a: Data, dtype: DataType) -> Value:
    type, source = _shaped(dtype, a), a.dtype
    if source.is_float() and dtype.is_float():
        return (arith.extf if dtype.bits > source.bits else arith.truncf)(type, a.value)
    if source.is_float():
        if dtype.bits < int32.bits:  # values out of range lose their upper bits
            return _converted(_made(_converted(a, int32), int32, a.shape), dtype)
        return (arith.fptosi if dtype.signed else arith.fptoui)(type, a.value)
    if dtype.is_float():
        return (arith.sitofp if source.signed else arith.uitofp)(type, a.value)
    if dtype.bits == source.bits:
        return a.value
    if dtype.bits < source.bits:
        return arith.trunci(type, a.value)
    return (arith.extsi if source.signed else arith.extui)(type, a.value)


def _shaped(dtype: DataType, like: Data) -> Type:
    element = Type.parse(dtype.mlir)
    return RankedTensorType.get(list(like.shape), element) if like.shape else element


def _constant(number: Any, dtype: DataType) -> Value:
    if not isinstance(number, int | float):
        raise UserError(
            f"{number!r} is not a number of type {dtype}",
            hints=["pass a number, or cast a tile: self.cast(x, dtype=...)"],
        )
    type = Type.parse(dtype.mlir)
    if dtype.is_float():
        if isinstance(number, int) and abs(number) > sys.float_info.max:
            raise UserError(f"{number:.3e} does not fit in {dtype}", hints=["use a wider type"])
        return arith.constant(type, FloatAttr.get(type, float(number)))
    if not numbers.isfinite(number) or number != int(number):
        raise UserError(
            f"{number} is not a number of type {dtype}",
            hints=["round it, or use a floating-point type"],
        )
    value = int(bool(number)) if dtype.kind == "bool" else int(number)
    if not -(1 << (dtype.bits - 1)) <= value < 1 << dtype.bits:
        raise UserError(f"{number} does not fit in {dtype}", hints=["use a wider type"])
    signed = value - (1 << dtype.bits) if value >= 1 << (dtype.bits - 1) else value
    return arith.constant(type, IntegerAttr.get(IntegerType(type), signed))


def _integer(number: int) -> DataType:
    return int32 if -(1 << 31) <= number < 1 << 31 else int64


def _wider(a: DataType, b: DataType) -> DataType:
    """The common type of two operands: a float before an integer, then the wider one."""
    if a == b:
        return a
    if {a.name, b.name} == {"float16", "bfloat16"}:
        return float32
    rank = {"bool": 0, "int": 1, "float": 2}
    return max((a, b), key=lambda dtype: (rank[dtype.kind], dtype.bits, not dtype.signed))


def _like(value: Data, made: Value) -> Data:
    return _made(made, value.dtype, value.shape)


def _made(made: Value, dtype: DataType, shape: Sequence[int]) -> Data:
    return RegisterTensor(made, dtype, tuple(shape)) if shape else Scalar(made, dtype)
