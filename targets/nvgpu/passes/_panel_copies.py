# SPDX-License-Identifier: Apache-2.0
"""Copies of the tiles of an operand from global to shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from xtc.ir.mlir import Attribute, IntegerAttr, IntegerType, Value
from xtc_targets.nvgpu.passes._panel import CHUNK, PERIOD, Panel
from xtc_targets.nvgpu.passes._thread_code import Code, Number

_NARROWEST_ASYNC = 4

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

    place: Number
    behind: int
    inside: Value | None
    k: Number


class PanelCopies:
    """The units that one thread copies of each tile.

    All of them are found before the loop over tiles. They lie at fixed distances from the first
    one wherever that is possible, so that they need no registers of their own.
    """

    def __init__(self, panel: Panel, code: Code, thread: Value, threads: int) -> None:
        self.panel = panel
        source, nbytes = panel.source, panel.kind.nbytes
        self._packed = source.width // nbytes
        units = panel.row_bytes // source.width
        count = panel.rows * units // threads
        if units <= threads:
            row, unit = code.div(thread, units), code.rem(thread, units)
            steps = [(i * (threads // units), 0) for i in range(count)]
        else:
            row, unit = 0, thread
            per_row = units // threads
            steps = [(i // per_row, i % per_row * threads) for i in range(count)]
        first, k = self._position(code, row, unit)
        self._address = code.moved(
            source.address,
            code.wide_sum(
                [
                    code.wide_times(code.add(panel.first, first), source.stride * nbytes),
                    code.wide_times(k, source.k_stride * nbytes),
                ]
            ),
        )
        self._units = [self._unit(code, row, unit, *step) for step in steps]

    def _position(self, code: Code, row: Number, unit: Number) -> tuple[Number, Number]:
        """Row or column in the tile, and position along K, of a unit of a row of shared memory."""
        return self._ordered(row, code.mul(unit, self._packed))

    def _ordered(self, row: T, element: T) -> tuple[T, T]:
        return (row, element) if self.panel.source.along_k else (element, row)

    def _unit(self, code: Code, row: Number, unit: Number, rows: int, units: int) -> _Unit:
        """The unit `rows` rows and `units` units after the first one of the thread."""
        panel, source = self.panel, self.panel.source
        behind, k_behind = self._ordered(rows, units * self._packed)
        position, k = self._position(code, code.add(row, rows), code.add(unit, units))
        inside = None
        if source.extent % panel.size:
            inside = code.less(code.add(panel.first, position), source.extent)
        nbytes = (behind * source.stride + k_behind * source.k_stride) * panel.kind.nbytes
        return _Unit(self._unit_offset(code, row, unit, rows, units), nbytes, inside, k)

    def _unit_offset(self, code: Code, row: Number, unit: Number, rows: int, units: int) -> Number:
        width = self.panel.source.width
        known = rows if rows % PERIOD == 0 else 0
        at = code.mul(unit, width)
        chunk, rest = code.div(at, CHUNK), code.rem(at, CHUNK)
        place = self.panel.chunk_offset(code, code.add(row, rows - known), chunk)
        return code.add(code.add(place, rest), known * self.panel.row_bytes + units * width)

    def issue(self, code: Code, tile: Number, slot: Value) -> None:
        """Start to copy a tile to a slot; elements outside the operand become 0."""
        panel, source = self.panel, self.panel.source
        step = panel.k_elements * source.k_stride * panel.kind.nbytes
        begin = code.moved(self._address, code.wide_times(tile, step))
        first_k = code.mul(tile, panel.k_elements)
        for unit in self._units:
            conditions = [] if unit.inside is None else [unit.inside]
            if source.k_extent % panel.k_elements:
                conditions.append(code.less(code.add(first_k, unit.k), source.k_extent))
            to = code.moved(slot, code.known(unit.place))
            self._copy(code, to, code.moved(begin, unit.behind), code.all_of(conditions))

    def _copy(self, code: Code, to: Value, source: Value, inside: Value | None) -> None:
        width = self.panel.source.width
        if width < _NARROWEST_ASYNC:
            self._copy_now(code, to, source, inside)
            return
        modifier = "cg" if width == CHUNK else "ca"  # others go through the first-level cache
        attributes = {
            "modifier": Attribute.parse(f"#nvvm<load_cache_modifier {modifier}>"),
            "size": IntegerAttr.get(IntegerType.get_signless(32), width),
        }
        size = [] if inside is None else [code.select(inside, width, 0)]
        code.op("nvvm.cp.async.shared.global", (), [to, source, *size], attributes)

    def _copy_now(self, code: Code, to: Value, source: Value, inside: Value | None) -> None:
        width = self.panel.source.width
        type = IntegerType.get_signless(8 * width)
        if inside is not None:
            code.store(code.constant(0, 8 * width), to, width)
        with code.when(inside):
            code.store(code.load(type, source, width), to, width)
