# SPDX-License-Identifier: Apache-2.0
"""call-libdevice: lowers mathematical functions to calls of NVIDIA's device library."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from xtc.ir.builders.functions import call, declare
from xtc.ir.mlir import (
    F32Type,
    FloatType,
    InsertionPoint,
    Operation,
    Type,
    Value,
    VectorType,
    all_operations,
    arith,
    vector,
)
from xtc.ir.passes import Pass

_FUNCTIONS = MappingProxyType(
    {
        **{
            f"math.{name}": name
            for name in (
                *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "erf", "erfc", "atan2"),
                *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
                *("asin", "acos", "atan", "asinh", "acosh", "atanh"),
            )
        },
        "math.powf": "pow",
    }
)
_OF_TWO = ("math.powf", "math.atan2")


@dataclass(frozen=True)
class CallLibdevice(Pass):
    """Call `__nv_expf` and the like, per element, for functions without a GPU instruction in LLVM.

    Before:
        %y = math.exp %x : f16
    After:
        %a = arith.extf %x : f16 to f32 ; %b = call @__nv_expf(%a) : (f32) -> f32
        %y = arith.truncf %b : f32 to f16

    The code generator links the library, which has float32 and float64 functions.
    """

    name: ClassVar[str] = "call-libdevice"

    def run(self, module: Operation) -> None:
        with module.context:
            found = [op for op in all_operations(module) if op.name in _FUNCTIONS]
            declared: set[str] = set()
            for op in found:
                with op.location:
                    _replace(op, module, declared)


def _replace(op: Operation, module: Operation, declared: set[str]) -> None:
    ip = InsertionPoint(op)
    type = op.results[0].type
    if isinstance(type, VectorType):
        positions = list(itertools.product(*map(range, type.shape)))
        parts = [
            _call(
                op.name, [vector.extract(value, [], list(at), ip=ip) for value in op.operands], ip
            )
            for at in positions
        ]
        made = vector.from_elements(type, parts, ip=ip)
        element = type.element_type
    else:
        made, element = _call(op.name, list(op.operands), ip), type
    _declare(op.name, element, module, declared)
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _call(name: str, operands: list[Value], ip: InsertionPoint) -> Value:
    """The function's value for scalars, computed in a type that the library supports."""
    type = operands[0].type
    wide = _library_type(type)
    if wide != type:
        operands = [arith.extf(wide, value, ip=ip) for value in operands]
    result = call(_function(name, wide), operands, [wide], ip=ip).results[0]
    return result if wide == type else arith.truncf(type, result, ip=ip)


def _library_type(type: Type) -> Type:
    return F32Type.get() if FloatType(type).width < 32 else type


def _function(name: str, type: Type) -> str:
    return f"__nv_{_FUNCTIONS[name]}{'f' if FloatType(type).width == 32 else ''}"


def _declare(name: str, element: Type, module: Operation, declared: set[str]) -> None:
    wide = _library_type(element)
    function = _function(name, wide)
    if function in declared:
        return
    declared.add(function)
    count = 2 if name in _OF_TWO else 1
    text = f"func.func private @{function}({', '.join([str(wide)] * count)}) -> {wide}"
    declare(module, text)
