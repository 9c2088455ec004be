# SPDX-License-Identifier: Apache-2.0
"""expand-bf16: conversions between bfloat16 and float32 as integer arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xtc.ir.builders.elementwise import ElementwiseWriter
from xtc.ir.mlir import (
    BF16Type,
    F32Type,
    F64Type,
    InsertionPoint,
    Operation,
    Type,
    Value,
    VectorType,
    all_operations,
    arith,
)
from xtc.ir.passes import Pass

_QUIET_NAN = 0x7FC0


@dataclass(frozen=True)
class ExpandBf16(Pass):
    """Widen bfloat16 by a shift; round to bfloat16 by an addition if there is no instruction for
    it.

    A bfloat16 is the upper half of a float32. LLVM's cost model overrates its own conversion and
    therefore chooses narrow vectors. `arith-expand` expands conversions in the same way, but also
    replaces maxima by comparisons, whose reductions LLVM does not vectorize.

    Before:
        %y = arith.extf %x : bf16 to f32
    After:
        %w = arith.extui (arith.bitcast %x : bf16 to i16) : i16 to i32
        %y = arith.bitcast (arith.shli %w, 16) : i32 to f32

    Conversions between bfloat16 and float64 go through float32, as in NumPy and PyTorch.

    Attributes:
        roundings: whether to expand the rounding of float32 to bfloat16 too: to nearest, ties to
            even, NaN to NaN.
    """

    name: ClassVar[str] = "expand-bf16"
    roundings: bool = False

    def run(self, module: Operation) -> None:
        with module.context:
            ops = all_operations(module)
            divided = [op for op in ops if _divide(op)]
            if divided:
                ops = all_operations(module)
            for op in ops:
                if _is_widening(op):
                    _replace(op, _widened)
                elif self.roundings and _is_rounding(op):
                    _replace(op, _rounded)


def _divide(op: Operation) -> bool:
    """Split a conversion between bfloat16 and float64 in two, through float32; False for others."""
    if op.name not in ("arith.extf", "arith.truncf"):
        return False
    if _elements(op) not in ((BF16Type, F64Type), (F64Type, BF16Type)):
        return False
    convert = arith.extf if op.name == "arith.extf" else arith.truncf
    with op.location, InsertionPoint(op):
        whole = op.results[0].type
        single: Type = F32Type.get()
        if isinstance(whole, VectorType):
            single = VectorType.get(whole.shape, single)
        op.results[0].replace_all_uses_with(convert(whole, convert(single, op.operands[0])))
    op.erase()
    return True


def _is_widening(op: Operation) -> bool:
    return op.name == "arith.extf" and _elements(op) == (BF16Type, F32Type)


def _is_rounding(op: Operation) -> bool:
    return op.name == "arith.truncf" and _elements(op) == (F32Type, BF16Type)


def _elements(op: Operation) -> tuple[type, type]:
    """The source and the destination element type of a conversion."""
    types = (op.operands[0].type, op.results[0].type)
    source, target = (type.element_type if isinstance(type, VectorType) else type for type in types)
    return type(source), type(target)


def _replace(op: Operation, expansion: Any) -> None:
    with op.location:
        writer = ElementwiseWriter(InsertionPoint(op), op.operands[0].type)
        op.results[0].replace_all_uses_with(expansion(writer, op.operands[0]))
    op.erase()


def _widened(write: ElementwiseWriter, value: Value) -> Value:
    bits = write.cast(arith.extui, 32, write.cast(arith.bitcast, 16, value))
    shifted = write.op(arith.shli, bits, write.number(16, 32))
    return write.cast(arith.bitcast, F32Type.get(), shifted)


def _rounded(write: ElementwiseWriter, value: Value) -> Value:
    """Add just below half of the last kept bit, plus one if that bit is odd."""
    bits = write.cast(arith.bitcast, 32, value)
    sixteen = write.number(16, 32)
    odd = write.op(arith.andi, write.op(arith.shrui, bits, sixteen), write.number(1, 32))
    half = write.op(arith.addi, odd, write.number(0x7FFF, 32))
    upper = write.op(arith.shrui, write.op(arith.addi, bits, half), sixteen)
    short = write.cast(arith.trunci, 16, upper)
    is_nan = write.op(arith.cmpf, arith.CmpFPredicate.UNE, value, value)
    chosen = write.op(arith.select, is_nan, write.number(_QUIET_NAN, 16), short)
    return write.cast(arith.bitcast, BF16Type.get(), chosen)
