# SPDX-License-Identifier: Apache-2.0
"""saturate-conversions: converts floats to integers as a GPU does."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

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
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.passes import Pass

_INTRINSICS = MappingProxyType(
    {"arith.fptosi": "llvm.fptosi.sat", "arith.fptoui": "llvm.fptoui.sat"}
)


@dataclass(frozen=True)
class SaturateConversions(Pass):
    """Saturate a float that is out of the integer's range, and convert NaN to 0.

    A GPU's `cvt` does so ("Parallel Thread Execution ISA", cvt). Instructions of the simulator's
    host give other results, and MLIR leaves these conversions undefined.

    Before:
        %y = arith.fptoui %x : f16 to i32
    After:
        %wide = arith.extf %x : f16 to f32
        %y = llvm.call_intrinsic "llvm.fptoui.sat"(%wide) : (f32) -> i32
    """

    name: ClassVar[str] = "saturate-conversions"

    def run(self, module: Operation) -> None:
        with module.context:
            for op in all_operations(module):
                type = op.results[0].type if op.name in _INTRINSICS else None
                if type is None or _rank(type) > 1:
                    continue
                with op.location, InsertionPoint(op):
                    wide = _at_least_float32(op.operands[0])
                    made = llvm.call_intrinsic(type, _INTRINSICS[op.name], [wide], [], [])
                op.results[0].replace_all_uses_with(made)
                op.erase()


def _rank(type: Type) -> int:
    return type.rank if isinstance(type, VectorType) else 0


def _at_least_float32(value: Value) -> Value:
    type = value.type
    element = type.element_type if isinstance(type, VectorType) else type
    if FloatType(element).width >= 32:
        return value
    wide = F32Type.get()
    return arith.extf(VectorType.get(type.shape, wide) if element != type else wide, value)
