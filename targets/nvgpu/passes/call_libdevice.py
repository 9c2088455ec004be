# SPDX-License-Identifier: Apache-2.0
"""call-libdevice: lowers mathematical functions to calls of NVIDIA's device library."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders.functions import call, declare, define
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
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._instruction_counts import FUNCTIONS, instructions

_INLINED = 4000
"""The most instructions of a function that are inlined into a kernel. More take LLVM and ptxas
seconds; fewer would keep the sums of a matmul in registers across calls, which ptxas spills."""

_OF_TWO = ("math.powf", "math.atan2")


@dataclass(frozen=True)
class CallLibdevice(Pass):
    """Call `__nv_expf` and the like, per element, for functions without a GPU instruction in LLVM.

    Before:
        %y = math.exp %x : f16
    After:
        %a = arith.extf %x : f16 to f32 ; %b = call @__nv_expf(%a) : (f32) -> f32
        %y = arith.truncf %b : f32 to f16

    The code generator links the library, which has float32 and float64 functions, and inlines
    them. A kernel that would have more than 4,000 instructions of a function calls it instead,
    through a function that is not inlined: `@xtc_nv_sinf`. Kernels with `wgmma` are an exception,
    because ptxas serializes these instructions in a kernel with calls.
    """

    name: ClassVar[str] = "call-libdevice"

    def run(self, module: Operation) -> None:
        with module.context:
            declared: set[str] = set()
            for function in top_level(module):
                found = [op for op in all_operations(function) if op.name in FUNCTIONS]
                called = _called(found) if not _has_wgmma(function) else frozenset()
                for op in found:
                    with op.location:
                        _replace(op, module, declared, called)


def _called(found: Sequence[Operation]) -> frozenset[str]:
    """The library functions of these operations that are too long to be inlined as often."""
    counted: Counter[str] = Counter()
    for op in found:
        type = op.results[0].type
        is_vector = isinstance(type, VectorType)
        wide = _library_type(type.element_type if is_vector else type)
        elements = math.prod(type.shape if is_vector else ())
        counted[_function(op.name, wide)] += instructions(op) * elements
    return frozenset(name for name, count in counted.items() if count > _INLINED)


def _has_wgmma(function: Operation) -> bool:
    return any("wgmma" in op.name or "wgmma" in _assembly(op) for op in all_operations(function))


def _assembly(op: Operation) -> str:
    return str(op.attributes["asm_string"]) if op.name == "llvm.inline_asm" else ""


def _replace(op: Operation, module: Operation, declared: set[str], called: frozenset[str]) -> None:
    ip = InsertionPoint(op)
    type = op.results[0].type
    if isinstance(type, VectorType):
        positions = list(itertools.product(*map(range, type.shape)))
        parts = [
            _call(
                op.name,
                [vector.extract(value, [], list(at), ip=ip) for value in op.operands],
                called,
                ip,
            )
            for at in positions
        ]
        made = vector.from_elements(type, parts, ip=ip)
        element = type.element_type
    else:
        made, element = _call(op.name, list(op.operands), called, ip), type
    _declare(op.name, element, module, declared, called)
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _call(name: str, operands: list[Value], called: frozenset[str], ip: InsertionPoint) -> Value:
    """The function's value for scalars, computed in a type that the library supports."""
    type = operands[0].type
    wide = _library_type(type)
    if wide != type:
        operands = [arith.extf(wide, value, ip=ip) for value in operands]
    function = _function(name, wide)
    callee = _not_inlined(function) if function in called else function
    result = call(callee, operands, [wide], ip=ip).results[0]
    return result if wide == type else arith.truncf(type, result, ip=ip)


def _library_type(type: Type) -> Type:
    return F32Type.get() if FloatType(type).width < 32 else type


def _function(name: str, type: Type) -> str:
    return f"__nv_{FUNCTIONS[name]}{'f' if FloatType(type).width == 32 else ''}"


def _not_inlined(function: str) -> str:
    return function.replace("__nv_", "xtc_nv_")


def _declare(
    name: str, element: Type, module: Operation, declared: set[str], called: frozenset[str]
) -> None:
    """Declare the library's function, and define the one that is not inlined, once each."""
    wide = _library_type(element)
    function = _function(name, wide)
    outer = _not_inlined(function)
    types = [str(wide)] * (2 if name in _OF_TWO else 1)
    declaration = f"func.func private @{function}({', '.join(types)}) -> {wide}\n"
    if function not in declared:
        declared.add(function)
        declare(module, declaration)
    if function in called and outer not in declared:
        declared.add(outer)
        arguments = ", ".join(f"%x{number}: {type}" for number, type in enumerate(types))
        values = ", ".join(f"%x{number}" for number in range(len(types)))
        define(
            module,
            f"""{declaration}func.func private @{outer}({arguments}) -> {wide} attributes {{
                llvm.linkage = #llvm.linkage<internal>, passthrough = ["noinline"]}} {{
              %y = func.call @{function}({values}) : ({", ".join(types)}) -> {wide}
              return %y : {wide}
            }}""",
            skip=[function],
        )
