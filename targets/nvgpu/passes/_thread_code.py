# SPDX-License-Identifier: Apache-2.0
"""Writes what a thread does: arithmetic on 32-bit numbers, branches, loops and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from xtc.ir.mlir import (
    Attribute,
    Block,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    Type,
    TypeAttr,
    Value,
)

Number: TypeAlias = Value | int
"""A value of type i32, or a number that is known now."""

_LESS_UNSIGNED = 6  # arith.cmpi: ult
_DYNAMIC = -(1 << 31)  # how llvm.getelementptr writes an index that is an operand


@dataclass
class Loop:
    """A loop being written: its counter, what it carries, and what that is in the next iteration.

    `results` is what it carries after the last iteration.
    """

    index: Value
    carried: list[Value]
    results: list[Value]
    following: list[Value] = field(default_factory=list)


@dataclass
class Code:
    """Appends operations at `ip`. Numbers that are known are computed now, not by the thread."""

    ip: InsertionPoint

    def op(
        self,
        name: str,
        results: Sequence[Type] = (),
        operands: Sequence[Value] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: int = 0,
    ) -> Operation:
        """Append an operation."""
        return Operation.create(
            name, list(results), list(operands), dict(attributes or {}), regions=regions, ip=self.ip
        )

    def value(
        self,
        name: str,
        result: Type,
        operands: Sequence[Value] = (),
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Value:
        """Append an operation of one result, and return that."""
        return self.op(name, [result], operands, attributes).results[0]

    def constant(self, number: int, bits: int = 32) -> Value:
        """An integer constant."""
        type = IntegerType.get_signless(bits)
        return self.value("arith.constant", type, (), {"value": IntegerAttr.get(type, number)})

    def known(self, number: Number) -> Value:
        """`number` as a value."""
        return self.constant(number) if isinstance(number, int) else number

    def add(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self._binary("arith.addi", a, b)

    def mul(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 1 or b == 1:
            return b if a == 1 else a
        return self._binary("arith.muli", a, b)

    def div(self, a: Number, b: int) -> Number:
        if isinstance(a, int):
            return a // b
        return a if b == 1 else self._binary("arith.divui", a, b)

    def rem(self, a: Number, b: int) -> Number:
        if isinstance(a, int) or b == 1:
            return a % b if isinstance(a, int) else 0
        return self._binary("arith.remui", a, b)

    def xor(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        return self._binary("arith.xori", a, b)

    def less(self, a: Number, b: Number) -> Value:
        """Whether `a` is below `b`, as unsigned numbers."""
        predicate = IntegerAttr.get(IntegerType.get_signless(64), _LESS_UNSIGNED)
        operands = [self.known(a), self.known(b)]
        i1 = IntegerType.get_signless(1)
        return self.value("arith.cmpi", i1, operands, {"predicate": predicate})

    def all_of(self, conditions: Sequence[Value]) -> Value | None:
        """Whether all hold; None stands for a condition that always does."""
        found: Value | None = None
        for condition in conditions:
            found = (
                condition
                if found is None
                else self.value("arith.andi", condition.type, [found, condition])
            )
        return found

    def select(self, condition: Value, yes: Number, no: Number) -> Value:
        values = [self.known(yes), self.known(no)]
        return self.value("arith.select", values[0].type, [condition, *values])

    def wide(self, number: Number) -> Value:
        """A number in 64 bits."""
        if isinstance(number, int):
            return self.constant(number, 64)
        return self.value("arith.extui", IntegerType.get_signless(64), [number])

    def wide_times(self, number: Number, factor: int) -> Value:
        """A product in 64 bits."""
        if isinstance(number, int):
            return self.constant(number * factor, 64)
        wide = self.wide(number)
        return self.value("arith.muli", wide.type, [wide, self.constant(factor, 64)])

    def wide_sum(self, values: Sequence[Value]) -> Value:
        """A sum of numbers of 64 bits."""
        total = values[0]
        for value in values[1:]:
            total = self.value("arith.addi", total.type, [total, value])
        return total

    def address(self, memref: Value, space: int) -> Value:
        """Where the buffer of a memref begins, in this memory space."""
        index = self.value("memref.extract_aligned_pointer_as_index", IndexType.get(), [memref])
        number = self.value("arith.index_cast", IntegerType.get_signless(64), [index])
        return self.value("llvm.inttoptr", Type.parse(f"!llvm.ptr<{space}>"), [number])

    def moved(self, base: Value, nbytes: Value | int) -> Value:
        """The address so many bytes behind `base`."""
        if isinstance(nbytes, int) and nbytes == 0:
            return base
        known = isinstance(nbytes, int)
        attributes = {
            "rawConstantIndices": Attribute.parse(f"array<i32: {nbytes if known else _DYNAMIC}>"),
            "elem_type": TypeAttr.get(IntegerType.get_signless(8)),
        }
        operands = [base] if known else [base, nbytes]
        return self.value("llvm.getelementptr", base.type, operands, attributes)

    def load(self, type: Type, address: Value, alignment: int) -> Value:
        return self.value("llvm.load", type, [address], _aligned(alignment))

    def store(self, value: Value, address: Value, alignment: int) -> None:
        self.op("llvm.store", (), [value, address], _aligned(alignment))

    @contextmanager
    def when(self, condition: Value | None) -> Iterator[None]:
        """What is written inside is done where `condition` holds; always, where it is None."""
        if condition is None:
            yield
            return
        branch = self.op("scf.if", (), [condition], regions=2)
        with self._inside(Block.create_at_start(branch.regions[0])):
            yield
            self.op("scf.yield")

    @contextmanager
    def loop(
        self, start: Number, stop: int, step: int, carried: Sequence[Value] = ()
    ) -> Iterator[Loop]:
        """What is written inside is done for each number; set `following` where it carries."""
        bounds = [self.known(start), self.known(stop), self.known(step)]
        types = [value.type for value in carried]
        op = self.op("scf.for", types, [*bounds, *carried], regions=1)
        block = Block.create_at_start(op.regions[0], [bounds[0].type, *types])
        loop = Loop(block.arguments[0], list(block.arguments)[1:], list(op.results))
        with self._inside(block):
            yield loop
            self.op("scf.yield", (), loop.following)

    @contextmanager
    def _inside(self, block: Block) -> Iterator[None]:
        outside, self.ip = self.ip, InsertionPoint(block)
        try:
            yield
        finally:
            self.ip = outside

    def _binary(self, name: str, a: Number, b: Number) -> Value:
        operands = [self.known(a), self.known(b)]
        return self.value(name, operands[0].type, operands)


def _aligned(alignment: int) -> dict[str, Attribute]:
    return {"alignment": IntegerAttr.get(IntegerType.get_signless(64), alignment)}
