# SPDX-License-Identifier: Apache-2.0
"""Typed arithmetic on scalars, written as MLIR text, for the bodies of linalg operations."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from xtc.core.types import ELEMENT_TYPES, ElementType, TensorType
from xtc.ir.attributes import AT_MOST_ZERO

BOOL = ELEMENT_TYPES["bool"]
Comparison = Literal["lt", "le", "eq", "ne", "ge", "gt"]
Bitwise = Literal["and", "or", "xor"]


@dataclass(frozen=True)
class Scalar:
    """An SSA value of one element; `condition` marks an i1, the result of a comparison."""

    ssa: str
    element: ElementType
    condition: bool = False

    @property
    def mlir(self) -> str:
        """The MLIR type of the value."""
        return "i1" if self.condition else self.element.mlir


def literal(value: float | int | bool, element: ElementType) -> str:
    """`value` as an MLIR literal of type `element`; exact for floats, infinities and NaN."""
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
    """The bits in hexadecimal: infinities and NaN have no decimal literal in MLIR."""
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
    """Writes the body of a linalg operation, line by line.

    Each method appends an operation and returns its result. Floats follow IEEE 754 without fast
    math; integers wrap; a bool is a byte with the value 0 or 1.
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
        name = stem["float" if a.element.is_float else "int"]
        return self._emit(f"{name} {a.ssa}, {b.ssa} : {a.mlir}", a.element, condition=a.condition)

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

        `by_reciprocal` permits a * (1 / b), for a `b` whose reciprocal is a normal number.
        """
        flags = " fastmath<arcp>" if by_reciprocal else ""
        return self._emit(f"arith.divf {a.ssa}, {b.ssa}{flags} : {a.mlir}", a.element)

    def maximum(self, a: Scalar, b: Scalar) -> Scalar:
        """The maximum; NaN if either is NaN."""
        return self._binary({"float": "arith.maximumf", "int": f"arith.max{_sign(a)}i"}, a, b)

    def minimum(self, a: Scalar, b: Scalar) -> Scalar:
        """The minimum; NaN if either is NaN."""
        return self._binary({"float": "arith.minimumf", "int": f"arith.min{_sign(a)}i"}, a, b)

    def neg(self, a: Scalar) -> Scalar:
        """-a."""
        if a.element.is_float:
            return self._emit(f"arith.negf {a.ssa} : {a.mlir}", a.element)
        return self.sub(self.constant(0, a.element), a)

    def math(self, function: str, a: Scalar, *, at_most_zero: bool = False) -> Scalar:
        """`math.<function>` of a float: exp, log, sqrt, tanh, erf, absf, floor, sin and others.

        `at_most_zero` asserts that the operand is not positive, which saves exp a test, and permits
        a subnormal result to be flushed to 0. The operand may be NaN.
        """
        fact = f" {{{AT_MOST_ZERO}}}" if at_most_zero else ""
        return self._emit(f"math.{function} {a.ssa}{fact} : {a.mlir}", a.element)

    def power(self, a: Scalar, b: Scalar) -> Scalar:
        """a to the power of b, floats only, as pow in C."""
        return self._emit(f"math.powf {a.ssa}, {b.ssa} : {a.mlir}", a.element)

    def quotient(self, a: Scalar, b: Scalar) -> Scalar:
        """a / b of integers, truncated toward zero; 0 if b is 0; the minimum / -1 wraps."""
        safe, by_zero, by_minus_1 = self._divisor(a, b)
        whole = self._emit(f"arith.div{_sign(a)}i {a.ssa}, {safe.ssa} : {a.mlir}", a.element)
        if by_minus_1 is not None:
            whole = self.select(by_minus_1, self.neg(a), whole)
        return self.select(by_zero, self.constant(0, a.element), whole)

    def remainder(self, a: Scalar, b: Scalar) -> Scalar:
        """a - b * trunc(a / b), with a's sign, as % and fmod in C; 0 for integers if b is 0."""
        if a.element.is_float:
            return self._emit(f"arith.remf {a.ssa}, {b.ssa} : {a.mlir}", a.element)
        safe, by_zero, by_minus_1 = self._divisor(a, b)
        rest = self._emit(f"arith.rem{_sign(a)}i {a.ssa}, {safe.ssa} : {a.mlir}", a.element)
        zero = self.constant(0, a.element)
        if by_minus_1 is not None:
            rest = self.select(by_minus_1, zero, rest)
        return self.select(by_zero, zero, rest)

    def _divisor(self, a: Scalar, b: Scalar) -> tuple[Scalar, Scalar, Scalar | None]:
        """`b` with 1 in place of divisors that may trap, 0 and -1, and the tests for these."""
        unit, zero = self.constant(1, b.element), self.constant(0, b.element)
        by_zero = self.compare("eq", b, zero)
        safe = self.select(by_zero, unit, b)
        if not b.element.signed:
            return safe, by_zero, None
        by_minus_1 = self.compare("eq", b, self.constant(-1, b.element))
        return self.select(by_minus_1, unit, safe), by_zero, by_minus_1

    def bits(self, how: Bitwise, a: Scalar, b: Scalar) -> Scalar:
        """Bitwise and, or, exclusive or of integers, bools and i1 conditions."""
        return self._binary({"int": f"arith.{how}i"}, a, b)

    def shift(
        self, how: Literal["left", "right"], a: Scalar, b: Scalar, *, inside: bool = False
    ) -> Scalar:
        """An integer shifted by b bits; 0, or -1 by its sign, for a shift of at least its width.

        `inside` asserts that b is below the width.
        """
        name = "arith.shli" if how == "left" else f"arith.shr{_sign(a)}i"
        if inside:
            return self._emit(f"{name} {a.ssa}, {b.ssa} : {a.mlir}", a.element)
        last = self.constant(a.element.bits - 1, a.element)
        over = self._emit(f"arith.cmpi ugt, {b.ssa}, {last.ssa} : {b.mlir}", BOOL, condition=True)
        near = self.select(over, last, b)
        moved = self._emit(f"{name} {a.ssa}, {near.ssa} : {a.mlir}", a.element)
        if how == "right" and a.element.signed:
            return moved
        return self.select(over, self.constant(0, a.element), moved)

    def opposite(self, condition: Scalar) -> Scalar:
        """The negation of an i1."""
        self._count += 1
        truth = f"%s{self._count}"
        self.lines.append(f"{truth} = arith.constant true")
        return self._emit(f"arith.xori {condition.ssa}, {truth} : i1", BOOL, condition=True)

    def index(self, position: int) -> Scalar:
        """The index of the operation's loop at `position`, an int64."""
        self._count += 1
        ssa = f"%s{self._count}"
        self.lines.append(f"{ssa} = linalg.index {position} : index")
        return self.position(ssa)

    def read(self, tensor: str, type: TensorType, indices: Sequence[Scalar]) -> Scalar:
        """The element of a tensor (its SSA name) at int64 `indices`, which are in bounds."""
        subscripts = self.indices(indices)
        return self._emit(f"tensor.extract {tensor}[{subscripts}] : {type.mlir()}", type.element)

    def bitcast(self, a: Scalar, to: ElementType) -> Scalar:
        """The bits of `a` as another element type of the same width."""
        if a.mlir == to.mlir:
            return Scalar(a.ssa, to)
        return self._emit(f"arith.bitcast {a.ssa} : {a.mlir} to {to.mlir}", to)

    def position(self, ssa: str) -> Scalar:
        """A value of type index as an int64."""
        return self._emit(f"arith.index_cast {ssa} : index to i64", ELEMENT_TYPES["int64"])

    def indices(self, positions: Sequence[Scalar]) -> str:
        """int64 values cast to index, as a comma-separated list of SSA names."""
        names = []
        for position in positions:
            self._count += 1
            names.append(f"%s{self._count}")
            self.lines.append(f"{names[-1]} = arith.index_cast {position.ssa} : i64 to index")
        return ", ".join(names)

    def clamp(self, position: Scalar, size: int) -> Scalar:
        """An int64 index clamped to [0, size - 1]."""
        low, high = (self.constant(limit, position.element) for limit in (0, size - 1))
        return self.minimum(self.maximum(position, low), high)

    def compare(self, how: Comparison, a: Scalar, b: Scalar) -> Scalar:
        """An i1; false if either is NaN (true for "ne")."""
        if a.element.is_float:
            predicate = "une" if how == "ne" else f"o{how}"
            text = f"arith.cmpf {predicate}, {a.ssa}, {b.ssa} : {a.mlir}"
        else:
            predicate = how if how in ("eq", "ne") else f"{_sign(a)}{how}"
            text = f"arith.cmpi {predicate}, {a.ssa}, {b.ssa} : {a.mlir}"
        return self._emit(text, BOOL, condition=True)

    def select(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """`a` if the i1 `condition` is true, else `b`."""
        return self._emit(f"arith.select {condition.ssa}, {a.ssa}, {b.ssa} : {a.mlir}", a.element)

    def is_true(self, a: Scalar) -> Scalar:
        """Whether an element is nonzero, as an i1."""
        return self.compare("ne", a, self.constant(0, a.element))

    def cast(self, a: Scalar, to: ElementType) -> Scalar:
        """`a` converted to another element type by the rules of `xtc.ops.cast`."""
        if a.condition:
            return self.cast(self._emit(f"arith.extui {a.ssa} : i1 to i8", BOOL), to)
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
        if to.is_float:
            name = f"arith.{_sign(a)}itofp"
        elif to.bits > a.element.bits:
            name = f"arith.ext{_sign(a)}i"
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
        """Truncate toward zero; saturate out of range; NaN gives 0.

        `arith.fptosi` returns poison out of range, so it only gets values in range.
        """
        least, greatest = to.limits
        low = self.constant(least, a.element)
        high = self.constant(greatest + 1, a.element)
        under = self.compare("lt", a, low)
        within = self.compare("lt", a, high)
        over = self.compare("ge", a, high)
        zero = self.constant(0, a.element)
        safe = self.select(within, self.select(under, zero, a), zero)
        sign = "s" if to.signed else "u"
        whole = self._emit(f"arith.fpto{sign}i {safe.ssa} : {a.mlir} to {to.mlir}", to)
        capped = self.select(over, self.constant(greatest, to), whole)
        return self.select(under, self.constant(least, to), capped)


def _sign(a: Scalar) -> str:
    """The signedness prefix of MLIR's integer operations."""
    return "s" if a.element.signed and not a.condition else "u"


def _by_way_of_float32(source: ElementType, to: ElementType) -> bool:
    """Half floats convert through float32, as in NumPy; only float64 to float16 is direct."""
    names = {source.name, to.name}
    half = bool(names & {"float16", "bfloat16"})
    return half and "float32" not in names and names != {"float64", "float16"}
