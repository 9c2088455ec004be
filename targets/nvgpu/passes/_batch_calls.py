# SPDX-License-Identifier: Apache-2.0
"""The simulator's calls for a batch of instructions: its table, the words of a lane, the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xtc.ir.builders.llvm import advanced, call, plain_address
from xtc.ir.mlir import InsertionPoint, IntegerAttr, Module, Operation, Type, Value
from xtc.ir.mlir_llvm import llvm
from xtc.ir.partition import symbol_of

MMA, LOAD = "nvvm.mma.sync", "nvvm.ldmatrix"

_WORD = 4
_A, _B, _C = 4, 2, 4
"""Words of a lane in a fragment of each operand."""
_REGISTERS, _ADDRESS = 4, 2
"""Words of a lane for the results of a load, and for the address of its row."""
WORDS = {MMA: _A + _B + _C, LOAD: _REGISTERS + _ADDRESS}
"""Words of a lane for an instruction, at most."""


class Tables:
    """Constants beside a kernel that tell the simulator what batches do; equal ones are one."""

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
class _Fragments:
    """Fragments of an operand, each once."""

    numbers: dict[tuple[Value, ...], int] = field(default_factory=dict)

    def number(self, words: Sequence[Value]) -> int:
        return self.numbers.setdefault(tuple(words), len(self.numbers))


@dataclass(frozen=True)
class Member:
    """A multiply-add of a batch.

    Attributes:
        continues: the number of the member to whose sums it adds, None where it has its own.
    """

    op: Operation
    continues: int | None


def multiply_all(
    kind: int, members: Sequence[Member], memory: Value, tables: Tables, ip: InsertionPoint
) -> list[Value | None]:
    """Call for multiply-adds in order; the results, None of those that another one continues."""
    a, b, c = _Fragments(), _Fragments(), list[list[Value]]()
    steps: list[tuple[int, int, int]] = []
    for member in members:
        words = list(member.op.operands)
        if member.continues is None:
            c.append(words[-_C:])
        sums = len(c) - 1 if member.continues is None else steps[member.continues][2]
        steps.append((a.number(words[:_A]), b.number(words[_A:-_C]), sums))
    counts = len(a.numbers), len(c), len(b.numbers)
    first_c = _A * counts[0]
    for first, size, fragments in (
        (0, _A, a.numbers),
        (first_c, _C, c),
        (first_c + _C * counts[1], _B, b.numbers),
    ):
        for number, values in enumerate(fragments):
            _store(values, first + size * number, memory, ip)
    numbers = [kind, *counts, len(steps), *(n for step in steps for n in step)]
    call("cuda_mma_batch", [tables.address(numbers, ip), memory], [], ip)
    continued = {member.continues for member in members}
    return [
        None if number in continued else _load(member.op, first_c + _C * step[2], memory, ip)
        for number, (member, step) in enumerate(zip(members, steps, strict=True))
    ]


def load_all(
    members: Sequence[Operation], memory: Value, tables: Tables, ip: InsertionPoint
) -> list[Value]:
    """Call for loads of matrices; their results."""
    first = _REGISTERS * len(members)
    for number, op in enumerate(members):
        row = plain_address(op.operands[0], ip)
        _store([row], first + _ADDRESS * number, memory, ip)
    numbers = [len(members)]
    for op in members:
        transposed = int("col" in str(op.attributes["layout"]))
        numbers += [int(IntegerAttr(op.attributes["num"]).value), transposed]
    call("cuda_load_matrix_batch", [tables.address(numbers, ip), memory], [], ip)
    return [_load(op, _REGISTERS * n, memory, ip) for n, op in enumerate(members)]


def _store(values: Sequence[Value], word: int, memory: Value, ip: InsertionPoint) -> None:
    for number, value in enumerate(values):
        llvm.store(value, advanced(memory, (word + number) * _WORD, ip), ip=ip)


def _load(op: Operation, word: int, memory: Value, ip: InsertionPoint) -> Value:
    return llvm.load(op.results[0].type, advanced(memory, word * _WORD, ip), ip=ip)
