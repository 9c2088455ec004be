# SPDX-License-Identifier: Apache-2.0
"""round-bf16: rounds float32 to bfloat16 by the GPU's instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import (
    BF16Type,
    F32Type,
    InsertionPoint,
    IntegerType,
    Operation,
    Value,
    VectorType,
    all_operations,
    arith,
    vector,
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.passes import Pass

_PAIR, _SINGLE = "cvt.rn.bf16x2.f32 $0, $1, $2;", "cvt.rn.bf16.f32 $0, $1;"


@dataclass(frozen=True)
class RoundBf16(Pass):
    """Round pairs of float32 to bfloat16 by `cvt.rn.bf16x2.f32`, and others by `cvt.rn.bf16.f32`.

    Before:
        %y = arith.truncf %x : vector<2xf32> to vector<2xbf16>
    After:
        %p = llvm.inline_asm "cvt.rn.bf16x2.f32 $0, $1, $2;" %x[1], %x[0] : i32
        %y = vector.bitcast %p : vector<1xi32> to vector<2xbf16>

    Rounding by integer arithmetic takes five instructions for an element. A NaN becomes 0x7fff.
    """

    name: ClassVar[str] = "round-bf16"

    def run(self, module: Operation) -> None:
        with module.context:
            for op in all_operations(module):
                if _is_rounding(op):
                    with op.location, InsertionPoint(op):
                        op.results[0].replace_all_uses_with(_rounded(op.operands[0]))
                    op.erase()


def _is_rounding(op: Operation) -> bool:
    if op.name != "arith.truncf" or "roundingmode" in op.attributes:
        return False
    source, target = op.operands[0].type, op.results[0].type
    if isinstance(source, VectorType):
        if source.rank != 1:
            return False
        source, target = source.element_type, VectorType(target).element_type
    return isinstance(source, F32Type) and isinstance(target, BF16Type)


def _rounded(value: Value) -> Value:
    if not isinstance(value.type, VectorType):
        return arith.bitcast(BF16Type.get(), _converted(_SINGLE, 16, "=h,f", value))
    count = VectorType(value.type).shape[0]
    whole = VectorType.get([count], BF16Type.get())
    elements = [vector.extract(value, [], [at]) for at in range(count)]
    if count % 2:
        return vector.from_elements(whole, [_rounded(element) for element in elements])
    words = [
        _converted(_PAIR, 32, "=r,f,f", high, low)
        for low, high in zip(elements[::2], elements[1::2], strict=True)
    ]
    packed = VectorType.get([len(words)], IntegerType.get_signless(32))
    return vector.bitcast(whole, vector.from_elements(packed, words))


def _converted(instruction: str, bits: int, constraints: str, *operands: Value) -> Value:
    type = IntegerType.get_signless(bits)
    return llvm.inline_asm(type, list(operands), instruction, constraints, asm_dialect=0)
