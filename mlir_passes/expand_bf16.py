# SPDX-License-Identifier: Apache-2.0
"""expand-bf16: conversions between bfloat16 and float32 as integer arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xtc.core.mlir import (
    Attribute,
    BF16Type,
    DenseElementsAttr,
    F32Type,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    Type,
    Value,
    VectorType,
)
from xtc.core.passes import Pass
from xtc_passes._linalg import all_operations

_QUIET_NAN = 0x7FC0
_PREDICATE_UNE = 13  # arith.cmpf: unordered or not equal


@dataclass(frozen=True)
class ExpandBf16(Pass):
    """Widen bfloat16 by a shift; round to it by an addition where the machine has no instruction.

    A bfloat16 is the upper half of a float32. LLVM takes its own conversion for dear and so chooses
    narrow vectors. `arith-expand` does the same, but also replaces maxima by comparisons, whose
    reductions are not vectorised.

        %y = arith.extf %x : bf16 to f32
    becomes
        %i = arith.bitcast %x : bf16 to i16
        %w = arith.extui %i : i16 to i32
        %y = arith.bitcast (%w << 16) : i32 to f32

    Attributes:
        roundings: expand float32 to bfloat16 too, to the nearest, ties to even; a NaN stays one.
    """

    name: ClassVar[str] = "expand-bf16"
    roundings: bool = False

    def run(self, module: Operation) -> None:
        with module.context:
            for op in all_operations(module):
                if _is_widening(op):
                    _replace(op, _widened)
                elif self.roundings and _is_rounding(op):
                    _replace(op, _rounded)


def _is_widening(op: Operation) -> bool:
    return op.name == "arith.extf" and _elements(op) == (BF16Type, F32Type)


def _is_rounding(op: Operation) -> bool:
    return op.name == "arith.truncf" and _elements(op) == (F32Type, BF16Type)


def _elements(op: Operation) -> tuple[type, type]:
    """The element types that a conversion goes from and to."""
    types = (op.operands[0].type, op.results[0].type)
    source, target = (one.element_type if isinstance(one, VectorType) else one for one in types)
    return type(source), type(target)


def _replace(op: Operation, expansion: Any) -> None:
    with op.location:
        writer = _Writer(InsertionPoint(op), op.operands[0].type)
        op.results[0].replace_all_uses_with(expansion(writer, op.operands[0]))
    op.erase()


def _widened(write: _Writer, value: Value) -> Value:
    bits = write.op("extui", 32, write.op("bitcast", 16, value))
    return write.op("bitcast", F32Type.get(), write.op("shli", 32, bits, write.number(16, 32)))


def _rounded(write: _Writer, value: Value) -> Value:
    """Add just below half of the last place that is kept, and one more where that place is odd."""
    bits = write.op("bitcast", 32, value)
    sixteen = write.number(16, 32)
    odd = write.op("andi", 32, write.op("shrui", 32, bits, sixteen), write.number(1, 32))
    half = write.op("addi", 32, odd, write.number(0x7FFF, 32))
    upper = write.op("shrui", 32, write.op("addi", 32, bits, half), sixteen)
    short = write.op("trunci", 16, upper)
    is_nan = write.op("cmpf", 1, value, value, predicate=_PREDICATE_UNE)
    chosen = write.op("select", 16, is_nan, write.number(_QUIET_NAN, 16), short)
    return write.op("bitcast", BF16Type.get(), chosen)


@dataclass(frozen=True)
class _Writer:
    """Appends arith operations on values of the shape of `like`, a scalar or a vector."""

    ip: InsertionPoint
    like: Type

    def op(self, name: str, result: int | Type, *operands: Value, **attributes: int) -> Value:
        """An operation whose result is an integer of so many bits, or of the type given."""
        numbers: dict[str, Attribute] = {
            key: IntegerAttr.get(IntegerType.get_signless(64), value)
            for key, value in attributes.items()
        }
        type = self._type(result)
        return Operation.create(f"arith.{name}", [type], operands, numbers, ip=self.ip).results[0]

    def number(self, value: int, bits: int) -> Value:
        """A constant, the same in every element."""
        element = IntegerAttr.get(IntegerType.get_signless(bits), value)
        type = self._type(bits)
        content = DenseElementsAttr.get_splat(type, element) if type != element.type else element
        attributes = {"value": content}
        return Operation.create("arith.constant", [type], (), attributes, ip=self.ip).results[0]

    def _type(self, result: int | Type) -> Type:
        element = IntegerType.get_signless(result) if isinstance(result, int) else result
        if isinstance(self.like, VectorType):
            return VectorType.get(self.like.shape, element)
        return element
