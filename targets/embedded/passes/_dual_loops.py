# SPDX-License-Identifier: Apache-2.0
"""The loop of a tile with dual multiply-adds, in assembly: its accumulators stay in registers.

A compiler would spill some of the 14 registers, so the instructions are chosen here. A word of four
weights of a column is split into two words of halves (SXTB16); the two words of each row are loaded
together (LDRD).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xtc.ir.mlir import Type, Value, arith
from xtc.ir.mlir_llvm import llvm
from xtc_targets.embedded.passes._kernels import WORD, integer

_PAIR = 2  # columns whose weights are loaded together
_REGISTERS = 13  # of which the last may hold the end of the loop
_FEW = 2  # most words of a loop that is fully unrolled


@dataclass(frozen=True)
class DualLoop:
    """The accumulation over words of K for rows times columns.

    Attributes:
        rows, columns: size of the tile; with several rows, at most two columns.
        words: number of words of K.
    """

    rows: int
    columns: int
    words: int

    @property
    def _count(self) -> int:
        return self.rows * self.columns

    @property
    def _wide(self) -> int:
        return min(self.columns, _PAIR)

    @property
    def _used(self) -> int:
        """The registers for accumulators, two addresses, a row's words and weights."""
        return self._count + 4 + 2 * self._wide

    @property
    def _end_is_float(self) -> bool:
        """Whether the end of the rows is in a float register, because the others are used up."""
        return self._used >= _REGISTERS

    @property
    def _step(self) -> int:
        """The number of words per iteration."""
        if self.words <= _FEW:
            return self.words
        return 2 if self.words % 2 == 0 else 1

    @property
    def _loops(self) -> bool:
        return self._step < self.words

    def sums(self, x: Value, w: Value, start: Sequence[Value]) -> list[Value]:
        """Emit the loop for the addresses of rows and weights; returns the updated accumulators."""
        i32 = integer(32)
        type = Type.parse(f"!llvm.struct<({', '.join(['i32'] * self._used)})>")
        operands = [*start, x, w, *([self._end(x)] if self._loops else [])]
        results = llvm.inline_asm(
            type, operands, "\n".join(self._lines()), self._constraints(), has_side_effects=True
        )
        return [llvm.extractvalue(i32, results, [n]) for n in range(self._count)]

    def _end(self, x: Value) -> Value:
        """The end address of the rows."""
        nbytes = arith.constant(integer(32), 2 * WORD * self.rows * self.words)
        end = arith.addi(x, nbytes)
        return arith.bitcast(Type.parse("f32"), end) if self._end_is_float else end

    def _constraints(self) -> str:
        outputs = ["=&r"] * self._used
        tied = [str(number) for number in range(self._count + 2)]
        end = ["t" if self._end_is_float else "r"] if self._loops else []
        return ",".join([*outputs, *tied, *end, "~{memory}", "~{cc}"])

    def _lines(self) -> Iterator[str]:
        if self._loops:
            yield "1:"
        for _ in range(self._step):
            yield from self._word()
        if self._loops:
            end = f"${self._used + self._count + 2}"
            if self._end_is_float:
                yield f"vmov {self._weight(0)}, {end}"
                end = self._weight(0)
            yield f"cmp {self._address(0)}, {end}"
            yield "bne 1b"

    def _word(self) -> Iterator[str]:
        """The instructions for four elements of K, for all rows and columns."""
        if self.rows == 1:
            yield self._row()
        for first in range(0, self.columns, _PAIR):
            columns = range(first, min(first + _PAIR, self.columns))
            yield from self._weights(len(columns))
            for row in range(self.rows):
                if self.rows > 1:
                    yield self._row()
                for half in range(2):
                    for column in columns:
                        total = f"${row * self.columns + column}"
                        weights = self._weight(2 * (column - first) + half)
                        yield f"smlad {total}, {self._half(half)}, {weights}, {total}"

    def _row(self) -> str:
        return f"ldrd {self._half(0)}, {self._half(1)}, [{self._address(0)}], #8"

    def _weights(self, count: int) -> Iterator[str]:
        even = [self._weight(2 * column) for column in range(count)]
        odd = [self._weight(2 * column + 1) for column in range(count)]
        if count == _PAIR:
            yield f"ldrd {even[0]}, {even[1]}, [{self._address(1)}], #8"
        else:
            yield f"ldr {even[0]}, [{self._address(1)}], #4"
        for low, high in zip(even, odd, strict=True):
            yield f"sxtb16 {high}, {low}, ror #8"
            yield f"sxtb16 {low}, {low}"

    def _address(self, number: int) -> str:
        return f"${self._count + number}"

    def _half(self, number: int) -> str:
        return f"${self._count + 2 + number}"

    def _weight(self, number: int) -> str:
        return f"${self._count + 4 + number}"
