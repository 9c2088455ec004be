# SPDX-License-Identifier: Apache-2.0
"""Writes arith operations on scalars, or alike on each element of vectors."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.mlir import (
    Attribute,
    DenseElementsAttr,
    F32Type,
    FloatAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    Type,
    Value,
    VectorType,
)


@dataclass(frozen=True)
class ArithWriter:
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
        """An integer constant, the same in every element."""
        return self._constant(IntegerAttr.get(IntegerType.get_signless(bits), value))

    def float32(self, value: float) -> Value:
        """A float32 constant, the same in every element."""
        return self._constant(FloatAttr.get(F32Type.get(), value))

    def _constant(self, element: Attribute) -> Value:
        type = self._type(element.type)
        content = DenseElementsAttr.get_splat(type, element) if type != element.type else element
        attributes = {"value": content}
        return Operation.create("arith.constant", [type], (), attributes, ip=self.ip).results[0]

    def _type(self, result: int | Type) -> Type:
        element = IntegerType.get_signless(result) if isinstance(result, int) else result
        if isinstance(self.like, VectorType):
            return VectorType.get(self.like.shape, element)
        return element
