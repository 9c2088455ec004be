# SPDX-License-Identifier: Apache-2.0
"""Operations of arith, math and tensor on NumPy values: scalars, and tiles as arrays.

An integer has the signed NumPy type of its width, an i1 is a bool, an index an int64. Operations on
unsigned integers reinterpret the bits. Floats are computed in their own type, as on the
machine; functions of `math` on float16 and bfloat16 in float32, as in the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from xtc.ir.mlir import (
    DenseElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Operation,
    RankedTensorType,
    Type,
)
from xtc.tile.interpreter.fused import fused
from xtc.tile.interpreter.libm import elementwise
from xtc.tile.values.saturation import saturated

_FLOATS = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}


def numpy_type(type: Type) -> np.dtype[Any]:
    """The NumPy type of an element."""
    if isinstance(type, IndexType):
        return np.dtype(np.int64)
    if isinstance(type, IntegerType):
        return np.dtype(np.bool_ if type.width == 1 else f"int{type.width}")
    found: np.dtype[Any] = _FLOATS[str(type)]
    return found


def element_of(type: Type) -> Type:
    """The type of an element of a tile; a scalar's own type."""
    return type.element_type if isinstance(type, RankedTensorType) else type


def is_computed(op: Operation) -> bool:
    """Whether `compute` supports an operation."""
    tables = (_OPERATIONS, _CASTS, _TO_INTEGERS, _SPECIAL)
    return any(op.name in table for table in tables)


def compute(op: Operation, operands: Sequence[Any]) -> Any:
    """The result of an operation."""
    result = op.results[0].type
    dtype = numpy_type(element_of(result))
    if op.name in _SPECIAL:
        return _SPECIAL[op.name](op, operands)
    with np.errstate(all="ignore"):
        if op.name in _TO_INTEGERS:
            return saturated(operands[0], dtype, signed=_TO_INTEGERS[op.name])
        if op.name in _CASTS:
            return _cast(_CASTS[op.name], operands[0], dtype)
        found = _OPERATIONS[op.name](*operands)
        return np.asarray(found).astype(dtype)[()]


def _unsigned(function: Callable[..., Any]) -> Callable[..., Any]:
    def on_bits(*values: Any) -> Any:
        given = [np.asarray(value) for value in values]
        seen = [v if v.dtype == bool else v.view(f"u{v.dtype}") for v in given]
        made = np.asarray(function(*seen))
        return made.view(given[0].dtype) if made.dtype == seen[0].dtype else made

    return on_bits


def _divided(a: Any, b: Any) -> Any:
    """Integer division as in C; division by 0, undefined on machines, gives 0."""
    zero = np.equal(b, 0)
    safe = np.where(zero, 1, b)
    quotient = np.abs(np.asarray(a, np.int64)) // np.abs(np.asarray(safe, np.int64))
    return np.where(zero, 0, quotient * np.sign(a) * np.sign(safe))


def _remainder(a: Any, b: Any) -> Any:
    return np.asarray(a, np.int64) - _divided(a, b) * np.asarray(b, np.int64)


def _safe(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: np.where(np.equal(b, 0), 0, function(a, np.where(np.equal(b, 0), 1, b)))


def _in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    def computed(*values: Any) -> Any:
        wide = [
            v if np.asarray(v).dtype.itemsize >= 4 else np.asarray(v, np.float32) for v in values
        ]
        return function(*wide)

    return computed


def _shifted(function: Callable[..., Any], keeps_sign: bool = False) -> Callable[..., Any]:
    """A shift by an unsigned amount; amounts of the width or more shift out all bits."""

    def shift(a: Any, b: Any) -> Any:
        width = np.asarray(a).dtype.itemsize * 8
        fits = np.less(b, width) & np.greater_equal(b, 0)
        found = function(a, np.where(fits, b, width - 1).astype(np.asarray(b).dtype))
        return found if keeps_sign else np.where(fits, found, np.zeros_like(found))

    return shift


_OPERATIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **dict.fromkeys(("arith.addf", "arith.addi"), np.add),
        **dict.fromkeys(("arith.subf", "arith.subi"), np.subtract),
        **dict.fromkeys(("arith.mulf", "arith.muli"), np.multiply),
        "arith.divf": np.divide,
        "arith.remf": np.fmod,
        "arith.negf": np.negative,
        "arith.divsi": _divided,
        "arith.remsi": _remainder,
        "arith.divui": _unsigned(_safe(np.floor_divide)),
        "arith.remui": _unsigned(_safe(np.remainder)),
        **dict.fromkeys(("arith.maximumf", "arith.maxsi"), np.maximum),
        **dict.fromkeys(("arith.minimumf", "arith.minsi"), np.minimum),
        "arith.maxui": _unsigned(np.maximum),
        "arith.minui": _unsigned(np.minimum),
        "arith.andi": np.bitwise_and,
        "arith.ori": np.bitwise_or,
        "arith.xori": np.bitwise_xor,
        "arith.shli": _shifted(np.left_shift),
        "arith.shrsi": _shifted(np.right_shift, keeps_sign=True),
        "arith.shrui": _unsigned(_shifted(np.right_shift)),
        "arith.select": np.where,
        "math.absf": np.abs,
        "math.absi": np.abs,
        **{
            f"math.{name}": elementwise(name)
            for name in (
                *("exp", "exp2", "log", "log2", "log10", "erf", "atan2"),
                *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
                *("asin", "acos", "atan", "asinh", "acosh", "atanh"),
            )
        },
        "math.sqrt": _in_float32(np.sqrt),
        "math.rsqrt": _in_float32(lambda x: 1 / np.sqrt(x)),
        "math.roundeven": np.rint,
        "math.fma": fused,
        "math.floor": np.floor,
        "math.ceil": np.ceil,
        "math.powf": elementwise("pow"),
    }
)

_CASTS: Mapping[str, bool] = MappingProxyType(
    {
        # name: whether the operand's integers are unsigned
        **dict.fromkeys(("arith.extf", "arith.truncf"), False),
        **dict.fromkeys(("arith.sitofp", "arith.extsi", "arith.trunci", "arith.index_cast"), False),
        **dict.fromkeys(("arith.uitofp", "arith.extui", "arith.index_castui"), True),
    }
)


_TO_INTEGERS = MappingProxyType({"arith.fptosi": True, "arith.fptoui": False})
"""Whether the integers are signed."""


def _cast(unsigned: bool, value: Any, dtype: np.dtype[Any]) -> Any:
    found = np.asarray(value)
    if found.dtype == bool and not unsigned and dtype.kind == "i":
        found = -found.astype(np.int8)  # a signed i1 is 0 or -1
    elif unsigned and found.dtype != bool:
        found = found.view(f"u{found.dtype}")
    return found.astype(dtype)[()]


def _constant(op: Operation, operands: Sequence[Any]) -> Any:
    type = op.results[0].type
    dtype = numpy_type(element_of(type))
    attribute = op.attributes["value"]
    if isinstance(type, RankedTensorType):
        splat = DenseElementsAttr(attribute).get_splat_value()
        return np.full(tuple(type.shape), _number(splat), dtype)
    return dtype.type(_number(attribute))


def _number(attribute: Any) -> Any:
    if isinstance(attribute.type, IntegerType | IndexType):
        return IntegerAttr(attribute).value
    return FloatAttr(attribute).value


_PREDICATES = (
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *(_unsigned(f) for f in (np.less, np.less_equal, np.greater, np.greater_equal)),
)
_ORDERED = {1: np.equal, 2: np.greater, 3: np.greater_equal, 4: np.less, 5: np.less_equal}
_UNE = 13


def _cmpi(op: Operation, operands: Sequence[Any]) -> Any:
    return _PREDICATES[IntegerAttr(op.attributes["predicate"]).value](*operands)


def _cmpf(op: Operation, operands: Sequence[Any]) -> Any:
    predicate = IntegerAttr(op.attributes["predicate"]).value
    if predicate == _UNE:
        return np.not_equal(*operands)
    return _ORDERED[predicate](*operands)


def _splat(op: Operation, operands: Sequence[Any]) -> Any:
    type = RankedTensorType(op.results[0].type)
    return np.full(tuple(type.shape), operands[0], numpy_type(type.element_type))


def _bitcast(op: Operation, operands: Sequence[Any]) -> Any:
    dtype = numpy_type(element_of(op.results[0].type))
    return np.asarray(operands[0]).view(dtype)[()]


_SPECIAL: Mapping[str, Callable[[Operation, Sequence[Any]], Any]] = MappingProxyType(
    {
        "arith.bitcast": _bitcast,
        "arith.constant": _constant,
        "arith.cmpi": _cmpi,
        "arith.cmpf": _cmpf,
        "tensor.splat": _splat,
    }
)
