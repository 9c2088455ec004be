# SPDX-License-Identifier: Apache-2.0
"""Fragments of an operand, from shared memory to the registers that mma.sync takes."""

from __future__ import annotations

from typing import TypeVar

from xtc.ir.mlir import (
    Attribute,
    DenseI64ArrayAttr,
    F32Type,
    IntegerAttr,
    IntegerType,
    Type,
    Value,
)
from xtc_targets.nvgpu.passes._panel import Panel
from xtc_targets.nvgpu.passes._thread_code import Code, Number

GROUP = 16
"""Rows or columns that one fragment has: those of A for one mma, those of B for two."""

T = TypeVar("T")

_REGISTERS = 4
_HALF = 8
_WORD = 4
_MATRICES = "!llvm.struct<(i32, i32, i32, i32)>"


class PanelReads:
    """The loads of one thread from each tile: four registers for 16 rows or columns and one step.

    Register r of A has rows 8 (r % 2) and half r / 2 of the K of the step; B has these two the
    other way round, so that registers 0 and 1 are the fragment of 8 columns, and 2 and 3 that of
    the next 8. For ldmatrix lane 8 r + i gives the address of row i of register r's matrix.

    All offsets are computed before the loop over tiles: along the rows of shared memory they follow
    from each other by an exclusive or, across them by a fixed distance.
    """

    def __init__(self, panel: Panel, code: Code, lane: Value, first: Number, is_a: bool) -> None:
        """`first` is the row or column of the tile with which the warp's part begins."""
        self.panel = panel
        self._first, self._is_a = first, is_a
        self._offsets: dict[tuple[int, int], Number] = {}
        self._lane = lane
        self._code = code  # computes offsets

    def prepare(self, groups: int, steps: int) -> None:
        """Compute the offsets of all groups and steps."""
        for group in range(groups):
            for step in range(steps):
                for register in range(_REGISTERS):
                    self._offset(group, step, register)

    def fragment(self, code: Code, slot: Value, group: int, step: int) -> list[Value]:
        """The registers of a group of 16 rows or columns, of one step of the tile in `slot`."""
        if self.panel.by_matrices:
            words = self._matrices(code, self._address(code, slot, group, step, 0))
        else:
            i32 = IntegerType.get_signless(32)
            addresses = [
                self._address(code, slot, group, step, number) for number in range(_REGISTERS)
            ]
            words = [code.load(i32, address, _WORD) for address in addresses]
        return [self._taken(code, word) for word in words]

    def _address(self, code: Code, slot: Value, group: int, step: int, register: int) -> Value:
        offset, behind = self._offset(group, step, register)
        return code.moved(code.moved(slot, code.known(offset)), behind)

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
        code, panel = self._code, self.panel
        row = code.rem(self._lane, _HALF)
        half, k_half = self._halves(code.rem(code.div(self._lane, 8), 2), code.div(self._lane, 16))
        if panel.source.along_k:
            row = code.add(code.add(self._first, row), code.mul(half, _HALF))
            return panel.chunk_offset(code, row, code.add(k_half, 2 * number))
        row = code.add(row, code.mul(k_half, _HALF))
        column = code.add(code.div(self._first, _HALF), half)
        return panel.chunk_offset(code, row, code.add(column, 2 * number))

    def _word_offset(self, group: int, step: int, register: int) -> tuple[Number, int]:
        """That of the element of 32 bits that the lane reads."""
        code, panel = self._code, self.panel
        half, k_half = self._halves(register % 2, register // 2)
        if (group, half) not in self._offsets:
            column = code.div(self._lane, 4)
            chunk = code.add(code.div(self._first, 4), code.div(column, 4))
            chunk = code.add(chunk, GROUP // 4 * group + 2 * half)
            offset = panel.chunk_offset(code, code.rem(self._lane, 4), chunk)
            self._offsets[group, half] = code.add(offset, code.mul(code.rem(column, 4), _WORD))
        return self._offsets[group, half], (8 * step + 4 * k_half) * panel.row_bytes

    def _halves(self, low: T, high: T) -> tuple[T, T]:
        """The half of rows or columns, and of K, from the two bits of the number of a register."""
        return (low, high) if self._is_a else (high, low)

    def _matrices(self, code: Code, address: Value) -> list[Value]:
        layout = "row" if self.panel.source.along_k else "col"  # "col" is transposed
        i32 = IntegerType.get_signless(32)
        attributes = {
            "num": IntegerAttr.get(i32, _REGISTERS),
            "layout": Attribute.parse(f"#nvvm.mma_layout<{layout}>"),
            "shape": Attribute.parse("#nvvm.ld_st_matrix_shape<m = 8, n = 8>"),
            "eltType": Attribute.parse("#nvvm.ld_st_matrix_elt_type<b16>"),
        }
        loaded = code.value("nvvm.ldmatrix", Type.parse(_MATRICES), [address], attributes)
        return [part(code, loaded, number, i32) for number in range(_REGISTERS)]

    def _taken(self, code: Code, word: Value) -> Value:
        """A register in the type that mma.sync takes; float32 is rounded to the nearest TF32."""
        if self.panel.kind.name == "bf16":
            return word
        if self.panel.kind.name == "f16":
            return code.value("llvm.bitcast", Type.parse("vector<2xf16>"), [word])
        number = code.value("llvm.bitcast", F32Type.get(), [word])
        rounding = {"rnd": Attribute.parse("#nvvm.fp_rnd_mode<rna>")}
        return code.value("nvvm.convert.float.to.tf32", word.type, [number], rounding)


def part(code: Code, struct: Value, number: int, type: Type) -> Value:
    """A member of a struct."""
    position = {"position": DenseI64ArrayAttr.get([number])}
    return code.value("llvm.extractvalue", type, [struct], position)
