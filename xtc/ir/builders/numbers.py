# SPDX-License-Identifier: Apache-2.0
"""Integer arithmetic with constant folding: on ints directly, on values by operations.

A number is an int or a value of type index or of an integer type. An int combined with a value
becomes a constant of the value's type. Operations are inserted at `ip`, or at the current insertion
point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xtc.ir.mlir import (
    IndexType,
    InsertionPoint,
    IntegerAttr,
    Operation,
    OpResult,
    Type,
    Value,
    arith,
)

Number: TypeAlias = Value | int


def constant(number: int, type: Type | None = None, ip: InsertionPoint | None = None) -> Value:
    """A constant, by default of type index."""
    return arith.constant(type or IndexType.get(), number, ip=ip)


def index_constant(number: int, ip: InsertionPoint | None = None) -> Value:
    """A constant of type index."""
    return arith.constant(IndexType.get(), number, ip=ip)


def as_value(number: Number, ip: InsertionPoint | None = None, type: Type | None = None) -> Value:
    """The number as a value; an int becomes a constant of `type`, by default index."""
    return constant(number, type, ip) if isinstance(number, int) else number


def known(number: Number) -> Number:
    """The number as an int if it is a constant."""
    if isinstance(number, OpResult) and number.owner.name == "arith.constant":
        return int(IntegerAttr(number.owner.attributes["value"]).value)
    return number


def add(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """`a + b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if is_int(a, 0) or is_int(b, 0):
        return b if isinstance(a, int) else a
    return binary(arith.addi, a, b, ip)


def subtract(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """`a - b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return a if is_int(b, 0) else binary(arith.subi, a, b, ip)


def multiply(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """`a * b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if is_int(a, 0) or is_int(b, 0):
        return 0
    if is_int(a, 1) or is_int(b, 1):
        return b if isinstance(a, int) else a
    return binary(arith.muli, a, b, ip)


def divide(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """`a // b` of nonnegative numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if is_int(b, 1) else binary(arith.divsi, a, b, ip)


def remainder(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """`a % b` of nonnegative numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return 0 if is_int(b, 1) else binary(arith.remsi, a, b, ip)


def divide_unsigned(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """`a // b` of unsigned numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if is_int(b, 1) else binary(arith.divui, a, b, ip)


def remainder_unsigned(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """`a % b` of unsigned numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return 0 if is_int(b, 1) else binary(arith.remui, a, b, ip)


def exclusive_or(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """`a ^ b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a ^ b
    return binary(arith.xori, a, b, ip)


def minimum(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """The minimum of two signed numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return binary(arith.minsi, a, b, ip)


def maximum(a: Number, b: Number, ip: InsertionPoint | None = None) -> Number:
    """The maximum of two signed numbers."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return binary(arith.maxsi, a, b, ip)


def trip_count(
    lower: Number, upper: Number, step: Number, ip: InsertionPoint | None = None
) -> Number:
    """The trip count of a loop from `lower` to `upper`, exclusive; 0 if the range is empty."""
    rounded = subtract(add(subtract(upper, lower, ip), step, ip), 1, ip)
    if isinstance(rounded, int) and isinstance(step, int):
        return max(0, rounded // step)
    return divide(maximum(rounded, 0, ip), step, ip)


def known_trips(loop: Operation) -> int | None:
    """The trip count of an scf.for with constant bounds and step, else None."""
    lower, upper, step = map(known, list(loop.operands)[:3])
    if not (isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int)):
        return None
    return max(0, -(-(upper - lower) // step))


def linear_offset(terms: Sequence[tuple[Number, int]], ip: InsertionPoint | None = None) -> Number:
    """The sum of `number * factor`; an int if all numbers are."""
    total: Number = sum(number * factor for number, factor in terms if isinstance(number, int))
    for number, factor in terms:
        if factor and not isinstance(number, int):
            total = add(total, multiply(number, factor, ip), ip)
    return total


def compare(predicate: str, a: Number, b: Number, ip: InsertionPoint | None = None) -> Value:
    """`a <predicate> b` as an i1, with a predicate of `arith.cmpi`, such as "slt" or "ult"."""
    left, right = operands(a, b, ip)
    return arith.cmpi(arith.CmpIPredicate[predicate], left, right, ip=ip)


def less(a: Number, b: Number, ip: InsertionPoint | None = None) -> Value | bool:
    """`a < b` of signed numbers; a bool if both are ints."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return compare("slt", a, b, ip)


def binary(
    make: Callable[..., Value], a: Number, b: Number, ip: InsertionPoint | None = None
) -> Value:
    """An operation on two numbers, such as `arith.xori`, without folding."""
    return make(*operands(a, b, ip), ip=ip)


def operands(a: Number, b: Number, ip: InsertionPoint | None = None) -> tuple[Value, Value]:
    """Both numbers as values of one type."""
    left, right = of_one_type((a, b), ip)
    return left, right


def of_one_type(given: Sequence[Number], ip: InsertionPoint | None = None) -> list[Value]:
    """The numbers as values; an int gets the type of the first value, or index."""
    type = next((number.type for number in given if not isinstance(number, int)), None)
    return [as_value(number, ip, type) for number in given]


def is_int(number: Number, value: int) -> bool:
    """Whether the number is the int `value`."""
    return isinstance(number, int) and number == value
