# SPDX-License-Identifier: Apache-2.0
"""Calls the simulator for a batch of matrix instructions, by a table and words of each lane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xtc.ir.builders.llvm import advanced, call, plain_address
from xtc.ir.mlir import (
    BlockArgument,
    DenseI64ArrayAttr,
    InsertionPoint,
    IntegerAttr,
    Module,
    Operation,
    Type,
    Value,
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.partition import symbol_of

MMA, LOAD = "nvvm.mma.sync", "nvvm.ldmatrix"
BATCH = "cuda_run_batch"
ACCUMULATORS = 4
"""The last operands of an mma: its fragment of C."""

_WORD = 4
_A, _B, _C = 4, 2, ACCUMULATORS
"""Words of a lane in the fragment of each operand."""
_REGISTERS, _ADDRESS = 4, 2
"""Words of a lane for the results of a load, and for the row address of the lane."""
WORDS = {MMA: _A + _B + _C, LOAD: _REGISTERS + _ADDRESS}
"""Maximum words of a lane per instruction."""
_FROM_WORDS = -1

Fragment = tuple[int, ...] | tuple[Value, ...]
"""Numbers of loaded matrices, or registers of a lane."""


def extracted(value: Value) -> tuple[Operation, int] | None:
    """The matrix instruction that defines a value, and the index of the result."""
    if isinstance(value, BlockArgument):
        return None
    maker = value.owner.operation
    if maker.name == "llvm.bitcast":
        return extracted(maker.operands[0])
    if maker.name in (MMA, LOAD):
        return maker, 0
    if maker.name != "llvm.extractvalue" or isinstance(maker.operands[0], BlockArgument):
        return None
    whole = maker.operands[0].owner.operation
    position = list(DenseI64ArrayAttr(maker.attributes["position"]))
    return (whole, position[0]) if whole.name in (MMA, LOAD) else None


def matrices(values: Sequence[Value], loads: Mapping[Operation, int]) -> tuple[int, ...] | None:
    """The numbers of the loaded matrices that a fragment consists of; None if it has others."""
    found = [extracted(value) for value in values]
    numbers = [4 * loads[each[0]] + each[1] for each in found if each and each[0] in loads]
    return tuple(numbers) if len(numbers) == len(values) else None


def operands(op: Operation) -> tuple[list[Value], list[Value], list[Value]]:
    """The registers of the fragments of A, B and C of an mma."""
    words = list(op.operands)
    return words[:_A], words[_A:-_C], words[-_C:]


class Tables:
    """Constants beside a kernel that describe batches to the simulator, without duplicates."""

    def __init__(self, kernel: Operation) -> None:
        self._kernel = kernel
        self._names: dict[tuple[int, ...], str] = {}

    def address(self, numbers: Iterable[int], ip: InsertionPoint) -> Value:
        """The address of a table."""
        key = tuple(numbers)
        if key not in self._names:
            self._names[key] = f"{symbol_of(self._kernel)}.batch{len(self._names)}"
            self._add(self._names[key], key)
        return llvm.mlir_addressof(Type.parse("!llvm.ptr"), self._names[key], ip=ip)

    def _add(self, name: str, numbers: Sequence[int]) -> None:
        text = (
            f'llvm.mlir.global internal constant @"{name}"(dense<{list(numbers)}> : '
            f"tensor<{len(numbers)}xi32>) : !llvm.array<{len(numbers)} x i32>"
        )
        with InsertionPoint(self._kernel):
            for op in Module.parse(text).body.operations:
                op.operation.clone()


@dataclass
class Layout:
    """The table of a batch, and the order of a lane's words.

    Attributes:
        kind: kind of the multiply-adds, a number of `CUDA_MMA_KINDS`.
        loads: the loads, with their numbers.
        wanted: loads whose registers lanes read.
        a, b: fragments, without duplicates.
        c: initial accumulators that are not results of the batch.
        steps: the fragments of each multiply-add.
    """

    kind: int
    loads: dict[Operation, int]
    wanted: list[Operation]
    a: dict[Fragment, int] = field(default_factory=dict)
    b: dict[Fragment, int] = field(default_factory=dict)
    c: list[list[Value]] = field(default_factory=list)
    steps: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, op: Operation, continues: int | None) -> None:
        """Add an mma; it accumulates onto the result of step `continues`, if that is a number."""
        a, b, c = operands(op)
        if continues is None:
            self.c.append(c)
        sums = len(self.c) - 1 if continues is None else self.steps[continues][2]
        self.steps.append((self._number(self.a, a), self._number(self.b, b), sums))

    def _number(self, known: dict[Fragment, int], values: list[Value]) -> int:
        key: Fragment = matrices(values, self.loads) or tuple(values)
        return known.setdefault(key, len(known))

    def call(self, memory: Value, tables: Tables, ip: InsertionPoint) -> None:
        """Store the words of a lane, and call the simulator."""
        given_a, given_b = _given(self.a), _given(self.b)
        first = self._first_of_b(len(given_a))
        addresses = first + _B * len(given_b)
        rows = [[plain_address(op.operands[0], ip)] for op in self.loads]
        for begin, size, fragments in (
            (0, _C, self.c),
            (_C * len(self.c), _A, given_a),
            (first, _B, given_b),
            (addresses, _ADDRESS, rows),
        ):
            for number, values in enumerate(fragments):
                for word, value in enumerate(values):
                    at = (begin + size * number + word) * _WORD
                    llvm.store(value, advanced(memory, at, ip), ip=ip)
        call(BATCH, [tables.address(self._numbers(addresses), ip), memory], [], ip)

    def sums(self, op: Operation, step: int, memory: Value, ip: InsertionPoint) -> Value:
        """The result of an mma, after the call."""
        return _load(op, _C * self.steps[step][2], memory, ip)

    def registers(self, op: Operation, memory: Value, ip: InsertionPoint) -> Value:
        """The result of a load that lanes read, after the call."""
        begin = _C * len(self.c) + _A * len(_given(self.a))
        return _load(op, begin + _REGISTERS * self.wanted.index(op), memory, ip)

    def _first_of_b(self, given_a: int) -> int:
        return _C * len(self.c) + _A * given_a + _REGISTERS * len(self.wanted)

    def _numbers(self, addresses: int) -> list[int]:
        counts = (self.loads, self.a, self.b, self.c, self.steps)
        numbers = [self.kind, *(len(each) for each in counts), addresses]
        for op in self.loads:
            count = int(IntegerAttr(op.attributes["num"]).value)
            transposed = "col" in str(op.attributes["layout"])
            numbers += [count, int(transposed), int(op in self.wanted)]
        for fragments in (self.a, self.b):
            for each in fragments:
                numbers += [n if isinstance(n, int) else _FROM_WORDS for n in each]
        return [*numbers, *(number for step in self.steps for number in step)]


def _given(fragments: Iterable[Fragment]) -> list[list[Value]]:
    """The registers of the fragments that lanes provide."""
    found = [[word for word in each if not isinstance(word, int)] for each in fragments]
    return [each for each in found if each]


def _load(op: Operation, word: int, memory: Value, ip: InsertionPoint) -> Value:
    return llvm.load(op.results[0].type, advanced(memory, word * _WORD, ip), ip=ip)
