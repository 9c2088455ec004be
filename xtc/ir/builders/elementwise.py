# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic on scalars or vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xtc.ir.mlir import (
    Attribute,
    DenseElementsAttr,
    F32Type,
    FloatAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Type,
    Value,
    VectorType,
    arith,
)


@dataclass(frozen=True)
class ElementwiseWriter:
    """Appends arith operations on values with the shape of `like`, a scalar or vector type."""

    ip: InsertionPoint
    like: Type

    def op(self, make: Callable[..., Value], *operands: object) -> Value:
        """The result of an operation constructor, such as `arith.addf`."""
        return make(*operands, ip=self.ip)

    def cast(self, make: Callable[..., Value], element: int | Type, value: Value) -> Value:
        """A cast, such as `arith.bitcast`, to an element type or to an integer width in bits."""
        return make(self._type(element), value, ip=self.ip)

    def number(self, value: int, bits: int) -> Value:
        """An integer splat constant."""
        return self._constant(IntegerAttr.get(IntegerType.get_signless(bits), value))

    def float32(self, value: float) -> Value:
        """A float32 splat constant."""
        return self._constant(FloatAttr.get(F32Type.get(), value))

    def _constant(self, element: Attribute) -> Value:
        type = self._type(element.type)
        content = DenseElementsAttr.get_splat(type, element) if type != element.type else element
        return arith.constant(type, content, ip=self.ip)

    def _type(self, element: int | Type) -> Type:
        type = IntegerType.get_signless(element) if isinstance(element, int) else element
        return VectorType.get(self.like.shape, type) if isinstance(self.like, VectorType) else type
