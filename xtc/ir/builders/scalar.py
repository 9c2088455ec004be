# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on single elements: bodies of linalg operations, typed, written as MLIR text."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Literal

from xtc.core.types import ELEMENT_TYPES, ElementType
from xtc.ir.attributes import AT_MOST_ZERO

BOOL = ELEMENT_TYPES["bool"]
Comparison = Literal["lt", "le", "eq", "ne", "ge", "gt"]


@dataclass(frozen=True)
class Scalar:
    """An SSA value that holds one element. `condition` marks an i1, the result of a comparison."""

    ssa: str
    element: ElementType
    condition: bool = False

    @property
    def mlir(self) -> str:
        """MLIR's type of the value."""
        return "i1" if self.condition else self.element.mlir


def literal(value: float | int | bool, element: ElementType) -> str:
    """`value` as an MLIR constant of `element`, exact for floats, infinities and NaN included."""
    if not element.is_float:
        return str(int(value))
    number = float(value)
    if math.isfinite(number):
        return (
            f"{number!r}" if "." in repr(number) or "e" not in repr(number) else _with_point(number)
        )
    return _bits(number, element)


def _with_point(number: float) -> str:
    mantissa, exponent = repr(number).split("e")
    return f"{mantissa}.0e{exponent}"


def _bits(number: float, element: ElementType) -> str:
    """Infinities and NaN have no decimal spelling in MLIR: hexadecimal bits of the type instead."""
    if element.name == "float64":
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    single = struct.unpack("<I", struct.pack("<f", number))[0]
    if element.name == "float32":
        return f"0x{single:08X}"
    if element.name == "bfloat16":
        return f"0x{single >> 16:04X}"
    return f"0x{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"


@dataclass
class ScalarBuilder:
    """Writes the body of one linalg operation, line by line.

    Every method appends an operation and returns its result. Floats follow IEEE 754 without fast
    math; integers wrap; a bool is a byte with 0 or 1.
    """

    lines: list[str] = field(default_factory=list)
    _count: int = 0

    def _emit(self, text: str, element: ElementType, *, condition: bool = False) -> Scalar:
        self._count += 1
        ssa = f"%s{self._count}"
        self.lines.append(f"{ssa} = {text}")
        return Scalar(ssa, element, condition)

    def constant(self, value: float | int | bool, element: ElementType) -> Scalar:
        """A constant of `element`."""
        text = literal(value, element)
        return self._emit(f"arith.constant {text} : {element.mlir}", element)

    def _binary(self, stem: dict[str, str], a: Scalar, b: Scalar) -> Scalar:
        return self._emit(f"{stem[a.element.kind]} {a.ssa}, {b.ssa} : {a.mlir}", a.element)

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """a + b."""
        return self._binary({"float": "arith.addf", "int": "arith.addi"}, a, b)

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        """a - b."""
        return self._binary({"float": "arith.subf", "int": "arith.subi"}, a, b)

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        """a * b."""
        return self._binary({"float": "arith.mulf", "int": "arith.muli"}, a, b)

    def div(self, a: Scalar, b: Scalar, *, by_reciprocal: bool = False) -> Scalar:
        """a / b, floats only.

        With `by_reciprocal` a * (1 / b) is as good: for a `b` whose reciprocal is a normal number.
        """
        flags = " fastmath<arcp>" if by_reciprocal else ""
        return self._emit(f"arith.divf {a.ssa}, {b.ssa}{flags} : {a.mlir}", a.element)

    def maximum(self, a: Scalar, b: Scalar) -> Scalar:
        """The larger one; NaN if either is NaN."""
        names = {"float": "arith.maximumf", "int": "arith.maxsi", "bool": "arith.maxui"}
        return self._binary(names, a, b)

    def minimum(self, a: Scalar, b: Scalar) -> Scalar:
        """The smaller one; NaN if either is NaN."""
        names = {"float": "arith.minimumf", "int": "arith.minsi", "bool": "arith.minui"}
        return self._binary(names, a, b)

    def neg(self, a: Scalar) -> Scalar:
        """-a."""
        if a.element.is_float:
            return self._emit(f"arith.negf {a.ssa} : {a.mlir}", a.element)
        return self.sub(self.constant(0, a.element), a)

    def math(self, function: str, a: Scalar, *, at_most_zero: bool = False) -> Scalar:
        """`math.<function>` of a float: exp, log, sqrt, tanh, erf.

        `at_most_zero` says that no operand is above 0, which spares exp a test; it may be NaN.
        """
        fact = f" {{{AT_MOST_ZERO}}}" if at_most_zero else ""
        return self._emit(f"math.{function} {a.ssa}{fact} : {a.mlir}", a.element)

    def compare(self, how: Comparison, a: Scalar, b: Scalar) -> Scalar:
        """An i1; false where either is NaN (true for "ne")."""
        if a.element.is_float:
            predicate = "une" if how == "ne" else f"o{how}"
            text = f"arith.cmpf {predicate}, {a.ssa}, {b.ssa} : {a.mlir}"
        else:
            predicate = how if how in ("eq", "ne") else f"s{how}"
            text = f"arith.cmpi {predicate}, {a.ssa}, {b.ssa} : {a.mlir}"
        return self._emit(text, BOOL, condition=True)

    def select(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """`a` where the i1 `condition` holds, else `b`."""
        return self._emit(f"arith.select {condition.ssa}, {a.ssa}, {b.ssa} : {a.mlir}", a.element)

    def is_true(self, a: Scalar) -> Scalar:
        """The i1 of a stored element: it is not zero."""
        return self.compare("ne", a, self.constant(0, a.element))

    def cast(self, a: Scalar, to: ElementType) -> Scalar:
        """`a` as another element type: see `xtc.ops.cast` for the rules."""
        if a.element == to:
            return a
        if _by_way_of_float32(a.element, to):
            return self.cast(self.cast(a, ELEMENT_TYPES["float32"]), to)
        if to == BOOL:
            return self._emit(f"arith.extui {self.is_true(a).ssa} : i1 to i8", BOOL)
        if a.element.is_float:
            return self._from_float(a, to)
        return self._from_integer(a, to)

    def _from_integer(self, a: Scalar, to: ElementType) -> Scalar:
        signed = a.element != BOOL
        if to.is_float:
            name = "arith.sitofp" if signed else "arith.uitofp"
        elif to.bits > a.element.bits:
            name = "arith.extsi" if signed else "arith.extui"
        elif to.bits < a.element.bits:
            name = "arith.trunci"
        else:
            return Scalar(a.ssa, to)
        return self._emit(f"{name} {a.ssa} : {a.mlir} to {to.mlir}", to)

    def _from_float(self, a: Scalar, to: ElementType) -> Scalar:
        if not to.is_float:
            return self._saturate(a, to)
        name = "arith.extf" if to.bits > a.element.bits else "arith.truncf"
        return self._emit(f"{name} {a.ssa} : {a.mlir} to {to.mlir}", to)

    def _saturate(self, a: Scalar, to: ElementType) -> Scalar:
        """Truncate toward zero; out of range gives the nearest limit, NaN gives 0.

        `arith.fptosi` is poison out of range, so only values in range reach it.
        """
        limit = 2 ** (to.bits - 1)
        low = self.constant(-limit, a.element)
        high = self.constant(limit, a.element)
        under = self.compare("lt", a, low)
        within = self.compare("lt", a, high)
        over = self.compare("ge", a, high)
        zero = self.constant(0, a.element)
        safe = self.select(within, self.select(under, zero, a), zero)
        whole = self._emit(f"arith.fptosi {safe.ssa} : {a.mlir} to {to.mlir}", to)
        capped = self.select(over, self.constant(limit - 1, to), whole)
        return self.select(under, self.constant(-limit, to), capped)


def _by_way_of_float32(source: ElementType, to: ElementType) -> bool:
    """Half floats convert by way of float32, as in NumPy; only float64 gives float16 at once."""
    names = {source.name, to.name}
    half = bool(names & {"float16", "bfloat16"})
    return half and "float32" not in names and names != {"float64", "float16"}
