# SPDX-License-Identifier: Apache-2.0
"""Fragments of an operand, from shared memory to the registers that mma.sync takes."""

from __future__ import annotations

from typing import TypeVar

from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import Number, add, divide_unsigned, multiply, remainder_unsigned
from xtc.ir.mlir import IntegerType, Value
from xtc.ir.mlir_llvm import llvm
from xtc_targets.nvgpu.passes._panel import Panel
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._warp_instructions import load_matrices, multiplicand

GROUP = 16
"""Rows or columns that one fragment has: those of A for one mma, those of B for two."""

T = TypeVar("T")

_REGISTERS = 4
_HALF = 8
_WORD = 4


class PanelReads:
    """The loads of one thread from each tile: four registers for 16 rows or columns and one step.

    Register r of A has rows 8 (r % 2) and half r / 2 of the K of the step; B has these two the
    other way round, so that registers 0 and 1 are the fragment of 8 columns, and 2 and 3 that of
    the next 8. For ldmatrix lane 8 r + i gives the address of row i of register r's matrix.

    All offsets are computed before the loop over tiles: along the rows of shared memory they follow
    from each other by an exclusive or, across them by a fixed distance.
    """

    def __init__(self, panel: Panel, lane: Value, first: Number, is_a: bool) -> None:
        """`first` is the row or column of the tile with which the warp's part begins."""
        self.panel = panel
        self._first, self._is_a = first, is_a
        self._offsets: dict[tuple[int, int], Number] = {}
        self._lane = lane

    def prepare(self, groups: int, steps: int) -> None:
        """Compute the offsets of all groups and steps."""
        for group in range(groups):
            for step in range(steps):
                for register in range(_REGISTERS):
                    self._offset(group, step, register)

    def fragment(self, slot: Value, group: int, step: int) -> list[Value]:
        """The registers of a group of 16 rows or columns, of one step of the tile in `slot`."""
        if self.panel.by_matrices:
            address = self._address(slot, group, step, 0)
            words = load_matrices(address, _REGISTERS, not self.panel.source.along_k)
        else:
            i32 = IntegerType.get_signless(32)
            addresses = [self._address(slot, group, step, number) for number in range(_REGISTERS)]
            words = [llvm.load(i32, address, alignment=_WORD) for address in addresses]
        return [multiplicand(self.panel.kind, word) for word in words]

    def _address(self, slot: Value, group: int, step: int, register: int) -> Value:
        offset, behind = self._offset(group, step, register)
        return advanced(advanced(slot, as_i32(offset)), behind)

    def _offset(self, group: int, step: int, register: int) -> tuple[Number, int]:
        """The offset of a fragment in a slot: the thread's number, and bytes after it."""
        if not self.panel.by_matrices:
            return self._word_offset(group, step, register)
        along_k = self.panel.source.along_k
        number = step if along_k else group
        if (number, 0) not in self._offsets:
            self._offsets[number, 0] = self._matrix_offset(number)
        return self._offsets[number, 0], (group if along_k else step) * GROUP * self.panel.row_bytes

    def _matrix_offset(self, number: int) -> Number:
        """That of the row whose address the lane gives, for this step or this group."""
        panel = self.panel
        row = remainder_unsigned(self._lane, _HALF)
        half, k_half = self._halves(
            remainder_unsigned(divide_unsigned(self._lane, 8), 2), divide_unsigned(self._lane, 16)
        )
        if panel.source.along_k:
            row = add(add(self._first, row), multiply(half, _HALF))
            return panel.chunk_offset(row, add(k_half, 2 * number))
        row = add(row, multiply(k_half, _HALF))
        column = add(divide_unsigned(self._first, _HALF), half)
        return panel.chunk_offset(row, add(column, 2 * number))

    def _word_offset(self, group: int, step: int, register: int) -> tuple[Number, int]:
        """That of the element of 32 bits that the lane reads."""
        panel = self.panel
        half, k_half = self._halves(register % 2, register // 2)
        if (group, half) not in self._offsets:
            column = divide_unsigned(self._lane, 4)
            chunk = add(divide_unsigned(self._first, 4), divide_unsigned(column, 4))
            chunk = add(chunk, GROUP // 4 * group + 2 * half)
            offset = panel.chunk_offset(remainder_unsigned(self._lane, 4), chunk)
            self._offsets[group, half] = add(offset, multiply(remainder_unsigned(column, 4), _WORD))
        return self._offsets[group, half], (8 * step + 4 * k_half) * panel.row_bytes

    def _halves(self, low: T, high: T) -> tuple[T, T]:
        """The half of rows or columns, and of K, from the two bits of the number of a register."""
        return (low, high) if self._is_a else (high, low)
