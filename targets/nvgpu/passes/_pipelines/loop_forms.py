# SPDX-License-Identifier: Apache-2.0
"""Integers of a loop as linear forms of the iteration number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xtc.ir.builders.numbers import Number, add, known, multiply
from xtc.ir.mlir import BlockArgument, Operation, Value

Key = tuple[Any, ...]

_PURE = ("arith.", "tile.block_id", "tile.grid_dim")


@dataclass(frozen=True)
class Form:
    """`constant + step * iteration + sum of terms`, modulo `modulus`.

    Attributes:
        terms: factors of loop-invariant values, by their keys.
        modulus: the modulus; 0 if there is none.
        is_reduced: whether the value is in [0, modulus); else it is only congruent to the form.
    """

    constant: int = 0
    step: int = 0
    terms: frozenset[tuple[Key, int]] = frozenset()
    modulus: int = 0
    is_reduced: bool = True

    def at(self, iteration: int) -> Form:
        """The form in a known iteration."""
        number = self.constant + self.step * iteration
        return replace(self, constant=number % self.modulus if self.modulus else number, step=0)

    def less(self, other: Form) -> int | None:
        """The difference of two forms without step and modulus; None unless it is constant."""
        if self.terms != other.terms or self.modulus or other.modulus:
            return None
        return self.constant - other.constant


def _sum(a: Form, b: Form, sign: int = 1) -> Form | None:
    if a.modulus and b.modulus:
        return None
    factors = dict(a.terms)
    for key, factor in b.terms:
        factors[key] = factors.get(key, 0) + sign * factor
    terms = frozenset((key, factor) for key, factor in factors.items() if factor)
    modulus = a.modulus or b.modulus
    return Form(a.constant + sign * b.constant, a.step + sign * b.step, terms, modulus, not modulus)


def _scaled(form: Form, factor: int) -> Form | None:
    if form.modulus:
        return None
    terms = frozenset((key, factor * each) for key, each in form.terms if factor)
    return Form(factor * form.constant, factor * form.step, terms)


def _remainder(form: Form, modulus: int) -> Form | None:
    """The remainder by a constant; None if the form may be negative, as the remainder would be."""
    if modulus < 1 or form.terms or form.constant < 0 or form.step < 0:
        return None
    if form.modulus not in (0, modulus):
        return None
    return Form(form.constant % modulus, form.step % modulus, frozenset(), modulus)


@dataclass
class LoopForms:
    """The integers of a loop, and of the code before it, as forms.

    Attributes:
        loop: an scf.for.
        values: a value for each key in a form.
    """

    loop: Operation
    values: dict[Key, Value] = field(default_factory=dict)
    _known: dict[Value, Form | None] = field(default_factory=dict)

    def of(self, value: Value | int) -> Form | None:
        """The form of a number; None if it is not linear in the iteration."""
        number = known(value)
        if isinstance(number, int):
            return Form(number)
        if number not in self._known:
            self._known[number] = None  # for a value that depends on itself
            self._known[number] = self._found(number)
        return self._known[number]

    def emitted(self, form: Form, iteration: Number, mapped: Mapping[Value, Value]) -> Number:
        """Emit code for the value of a form without modulus in an iteration."""
        total: Number = add(form.constant, multiply(iteration, form.step))
        for key, factor in sorted(form.terms, key=repr):
            value = self.values[key]
            total = add(total, multiply(mapped.get(value, value), factor))
        return total

    def _found(self, value: Value) -> Form | None:
        if isinstance(value, BlockArgument):
            block = self.loop.regions[0].blocks[0]
            return self._of_argument(value) if value.owner == block else self._leaf(value)
        op = value.owner.operation
        parts = [self.of(operand) for operand in op.operands] if _is_linear(op) else []
        found = _combined(op.name, parts) if parts and None not in parts else None
        return found or self._leaf(value)

    def _of_argument(self, value: BlockArgument) -> Form | None:
        """The form of the loop's index, or of a carried value with a constant increment."""
        lower, _, step, *initial = self.loop.operands
        if value.arg_number == 0:
            first, size = self.of(lower), known(step)
            return replace(first, step=size) if first and isinstance(size, int) else None
        handed_on = list(self.loop.regions[0].blocks[0].operations)[-1].operands
        first = self.of(initial[value.arg_number - 1])
        self._known[value] = symbol = Form(terms=frozenset({(("carried", value.arg_number), 1)}))
        carried = {each: form for each, form in self._known.items() if hasattr(each, "arg_number")}
        kept, self._known = self._known, {**carried, value: symbol}
        grown = self._growth(handed_on[value.arg_number - 1], symbol)
        self._known = kept
        if first is None or grown is None or first.modulus:
            return None
        step_size, modulus = grown
        if not modulus:
            return replace(first, step=step_size)
        if first.terms or not 0 <= first.constant < modulus:
            return None
        return Form(first.constant, step_size % modulus, frozenset(), modulus)

    def _growth(self, value: Value, symbol: Form) -> tuple[int, int] | None:
        """The increment of a carried value per iteration, and its modulus or 0."""
        op = None if isinstance(value, BlockArgument) else value.owner.operation
        modulus = known(op.operands[1]) if op is not None and op.name == "arith.remsi" else 0
        if not isinstance(modulus, int):
            return None
        form = self.of(op.operands[0] if op is not None and modulus else value)
        if form is None or form.terms != symbol.terms or form.step or form.modulus:
            return None
        return (form.constant, modulus) if form.constant >= 0 or not modulus else None

    def _leaf(self, value: Value) -> Form | None:
        """The form of a loop-invariant value, whose only term is the value."""
        if self._is_inside(value):
            return None
        key = self.key(value)
        self.values.setdefault(key, value)
        return Form(terms=frozenset({(key, 1)}))

    def _is_inside(self, value: Value) -> bool:
        owner = value.owner
        op = owner.owner if isinstance(value, BlockArgument) else owner
        op = getattr(op, "operation", op)
        while op.name != "func.func":
            if op == self.loop:
                return True
            op = op.parent.operation
        return False

    def key(self, value: Value) -> Key:
        """A key that is equal for values that are computed in the same way."""
        if isinstance(value, BlockArgument):
            return ("argument", hash(value))
        op = value.owner.operation
        if not op.name.startswith(_PURE) or len(op.regions):
            return ("value", hash(value))
        attributes = ", ".join(f"{name}={op.attributes[name]}" for name in op.attributes)
        return (op.name, str(value.type), attributes, *map(self.key, op.operands))


def _is_linear(op: Operation) -> bool:
    names = ("addi", "subi", "muli", "remsi", "index_cast", "extsi", "extui")
    return op.name in [f"arith.{name}" for name in names]


def _combined(name: str, parts: list[Form | None]) -> Form | None:
    a, b = (parts[0] or Form()), (parts[-1] or Form())
    is_number = not (b.step or b.terms or b.modulus)
    if name == "arith.addi":
        return _sum(a, b)
    if name == "arith.subi":
        return _sum(a, b, -1)
    if name == "arith.remsi":
        return _remainder(a, b.constant) if is_number else None
    if name == "arith.muli":
        if is_number:
            return _scaled(a, b.constant)
        return _scaled(b, a.constant) if not (a.step or a.terms or a.modulus) else None
    return a if a.is_reduced else None
