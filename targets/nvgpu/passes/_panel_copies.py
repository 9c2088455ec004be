# SPDX-License-Identifier: Apache-2.0
"""Copies of the tiles of an operand from global to shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from xtc.ir.builders.control import branch
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import (
    Number,
    add,
    compare,
    constant,
    divide_unsigned,
    multiply,
    remainder_unsigned,
)
from xtc.ir.mlir import IntegerType, Value
from xtc.ir.mlir_llvm import llvm
from xtc_targets.nvgpu.passes._panel import CHUNK, PERIOD, Panel
from xtc_targets.nvgpu.passes._thread_code import all_of, as_i32, wide_add, wide_times
from xtc_targets.nvgpu.passes._warp_instructions import NARROWEST_ASYNC, begin_copy

T = TypeVar("T")


@dataclass(frozen=True)
class _Unit:
    """The bytes that a thread copies at once.

    Attributes:
        place: in a slot of shared memory.
        behind: bytes from the thread's address in global memory.
        inside: whether it is in the operand's rows or columns; None where it always is.
        k: its first position along K in the tile.
    """

    offset: Number
    behind: int
    inside: Value | None
    k: Number


class PanelCopies:
    """The units that one thread copies of each tile.

    All of them are found before the loop over tiles. They lie at fixed distances from the first
    one wherever that is possible, so that they need no further registers.
    """

    def __init__(self, panel: Panel, thread: Value, threads: int) -> None:
        self.panel = panel
        source, nbytes = panel.source, panel.kind.nbytes
        self._packed = source.width // nbytes
        units = panel.row_bytes // source.width
        count = panel.rows * units // threads
        if units <= threads:
            row, unit = divide_unsigned(thread, units), remainder_unsigned(thread, units)
            steps = [(i * (threads // units), 0) for i in range(count)]
        else:
            row, unit = 0, thread
            per_row = units // threads
            steps = [(i // per_row, i % per_row * threads) for i in range(count)]
        first, k = self._position(row, unit)
        self._address = advanced(
            source.address,
            wide_add(
                [
                    wide_times(add(panel.first, first), source.stride * nbytes),
                    wide_times(k, source.k_stride * nbytes),
                ]
            ),
        )
        self._units = [self._unit(row, unit, *step) for step in steps]

    def _position(self, row: Number, unit: Number) -> tuple[Number, Number]:
        """Row or column in the tile, and position along K, of a unit of a row of shared memory."""
        return self._ordered(row, multiply(unit, self._packed))

    def _ordered(self, row: T, element: T) -> tuple[T, T]:
        return (row, element) if self.panel.source.along_k else (element, row)

    def _unit(self, row: Number, unit: Number, rows: int, units: int) -> _Unit:
        """The unit `rows` rows and `units` units after the first one of the thread."""
        panel, source = self.panel, self.panel.source
        behind, k_behind = self._ordered(rows, units * self._packed)
        position, k = self._position(add(row, rows), add(unit, units))
        inside = None
        if source.extent % panel.size:
            inside = compare("ult", add(panel.first, position), source.extent)
        nbytes = (behind * source.stride + k_behind * source.k_stride) * panel.kind.nbytes
        return _Unit(self._unit_offset(row, unit, rows, units), nbytes, inside, k)

    def _unit_offset(self, row: Number, unit: Number, rows: int, units: int) -> Number:
        width = self.panel.source.width
        known = rows if rows % PERIOD == 0 else 0
        at = multiply(unit, width)
        chunk, rest = divide_unsigned(at, CHUNK), remainder_unsigned(at, CHUNK)
        offset = self.panel.chunk_offset(add(row, rows - known), chunk)
        return add(add(offset, rest), known * self.panel.row_bytes + units * width)

    def issue(self, tile: Number, slot: Value) -> None:
        """Start to copy a tile to a slot; elements outside the operand become 0."""
        panel, source = self.panel, self.panel.source
        step = panel.k_elements * source.k_stride * panel.kind.nbytes
        begin = advanced(self._address, wide_times(tile, step))
        first_k = multiply(tile, panel.k_elements)
        for unit in self._units:
            conditions = [] if unit.inside is None else [unit.inside]
            if source.k_extent % panel.k_elements:
                conditions.append(compare("ult", add(first_k, unit.k), source.k_extent))
            to = advanced(slot, as_i32(unit.offset))
            self._copy(to, advanced(begin, unit.behind), all_of(conditions))

    def _copy(self, to: Value, source: Value, inside: Value | bool) -> None:
        width = self.panel.source.width
        if width < NARROWEST_ASYNC:
            self._copy_now(to, source, inside)
        else:
            begin_copy(to, source, width, inside)

    def _copy_now(self, to: Value, source: Value, inside: Value | bool) -> None:
        width = self.panel.source.width
        type = IntegerType.get_signless(8 * width)
        if inside is not True:
            llvm.store(constant(0, type), to, alignment=width)
        with branch(inside):
            llvm.store(llvm.load(type, source, alignment=width), to, alignment=width)
