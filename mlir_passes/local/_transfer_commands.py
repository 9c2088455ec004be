# SPDX-License-Identifier: Apache-2.0
"""Turns transfers into the commands of a machine's copy engine."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.builders import numbers
from xtc.ir.builders.control import branch, loop
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    Type,
    Value,
    all_operations,
    memref,
)
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._transfer_rows import Dimension, Rows, rows_of, sides_of
from xtc_passes.local._transfers import START, WAIT, tag_of, target_of
from xtc_passes.local._view_layouts import Layout

_NO_TRANSFER = 0  # no transfer has this number


@dataclass(frozen=True)
class Command:
    """One command: rows of bytes, each contiguous, at a fixed stride on both sides.

    Addresses, strides and sizes are index values, in bytes.

    Attributes:
        to_local: whether local memory is written.
        local, main: the addresses of the first row.
        local_stride, main_stride: from one row to the next.
        row_bytes: size of each row.
        rows: number of rows; 1 for an engine that copies one row at a time.
    """

    to_local: bool
    local: Value
    local_stride: Value
    main: Value
    main_stride: Value
    row_bytes: Value
    rows: Value


class CopyEngine(ABC):
    """The interface of a machine's engine for copies between main and local memory.

    Attributes:
        in_flight: the transfers that may be in flight at a time.
        counts_rows: whether one command copies several rows.
        row_bytes: the longest row of a command, in bytes; None if unlimited.
    """

    in_flight: int = 1
    counts_rows: bool = False
    row_bytes: int | None = None

    @abstractmethod
    def declare(self, module: Operation) -> None:
        """Declare the functions that commands call."""

    @abstractmethod
    def start(self, command: Command) -> Value:
        """Start a command at the current insertion point; returns its number, an i32 above 0."""

    @abstractmethod
    def wait(self, number: Value) -> None:
        """Wait for the command of this number, at the current insertion point."""


def transfer_number() -> Type:
    """The type of the number of a transfer."""
    return IntegerType.get_signless(32)


def lower_transfers(function: Operation, engine: CopyEngine, memory: LocalMemory) -> None:
    """Replace every `memref.dma_start` and `memref.dma_wait` of a function by commands."""
    ops = all_operations(function)
    starts = [op for op in ops if op.name == START]
    unsure = {tag_of(op)[0] for op in starts if _may_be_empty(op)}
    slots = _slots(starts, engine, memory)
    for op in [op for op in ops if op.name in (START, WAIT)]:
        buffer, number = tag_of(op)
        with op.location, InsertionPoint(op):
            tags = _Tags(buffer, number, slots[buffer], buffer in unsure, engine)
            if op.name == START:
                _start(op, tags, memory)
            else:
                tags.wait()
        op.erase()
    with function.location:
        for buffer, count in slots.items():
            type = MemRefType(buffer.type)
            buffer.set_type(MemRefType.get([type.shape[0] * count], type.element_type))


def _slots(
    starts: Sequence[Operation], engine: CopyEngine, memory: LocalMemory
) -> dict[Value, int]:
    """The slots of each tag: one for each command, if all commands may be in flight together.

    Several starts may share a tag; all of them must then have the same number of commands.
    """
    found: dict[Value, set[int]] = {}
    for op in starts:
        found.setdefault(tag_of(op)[0], set()).add(_command_count(op, engine, memory))
    commands = {tags: min(counts) if len(counts) == 1 else 1 for tags, counts in found.items()}
    left = engine.in_flight - sum(2 * MemRefType(tags.type).shape[0] for tags in commands)
    slots = {}
    for tags, count in sorted(commands.items(), key=lambda item: item[1]):
        more = MemRefType(tags.type).shape[0] * count
        slots[tags] = count if count > 1 and more <= left else 1
        left -= more if slots[tags] > 1 else 0
    return slots


def _command_count(start: Operation, engine: CopyEngine, memory: LocalMemory) -> int:
    """The number of commands of a transfer; 1 if it is known only at run time."""
    if _may_be_empty(start):
        return 1
    with InsertionPoint(start), start.location:
        local, main = sides_of(start, memory)
        rows = rows_of(local, main, counts_rows=engine.counts_rows)
        dims = _with_bursts(rows, local.element_bytes, engine).outer
    return math.prod(dim.size for dim in dims if isinstance(dim.size, int))


def _may_be_empty(start: Operation) -> bool:
    return not target_of(start).type.has_static_shape


def _burst_elements(engine: CopyEngine, element_bytes: int) -> int | None:
    return None if engine.row_bytes is None else engine.row_bytes // element_bytes


def _with_bursts(rows: Rows, element_bytes: int, engine: CopyEngine) -> Rows:
    """The rows, with one more dimension if a row is longer than a command may copy."""
    burst = _burst_elements(engine, element_bytes)
    if burst is None or (isinstance(rows.elements, int) and rows.elements <= burst):
        return rows
    bursts = Dimension(numbers.trip_count(0, rows.elements, burst), burst, burst)
    outer = [*rows.outer, *([] if rows.counted is None else [rows.counted]), bursts]
    return Rows(rows.elements, None, outer)


@dataclass(frozen=True)
class _Tags:
    """The numbers of the commands of one transfer, in an array on the stack.

    Attributes:
        buffer: the array.
        number: the index of the transfer's tag.
        slots: elements of the array for each tag.
        may_be_none: whether an empty transfer has no command; its number is 0 then.
        engine: the copy engine.
    """

    buffer: Value
    number: Value
    slots: int
    may_be_none: bool
    engine: CopyEngine

    def store(self, transfer: Value, position: Offset = 0) -> None:
        memref.store(transfer, self.buffer, [self._index(position)])

    def load(self, position: Offset = 0) -> Value:
        return memref.load(self.buffer, [self._index(position)])

    def _index(self, position: Offset) -> Value:
        first = numbers.multiply(numbers.known(self.number), self.slots)
        return numbers.as_value(numbers.add(first, position))

    def wait(self) -> None:
        if self.slots == 1:
            self.wait_for(self.load(), self.may_be_none)
            return
        with loop(0, self.slots) as slot:
            self.wait_for(self.load(slot.index), self.may_be_none)

    def wait_for(self, transfer: Value, may_be_none: bool) -> None:
        is_transfer = numbers.compare("ne", transfer, _no_transfer()) if may_be_none else True
        with branch(is_transfer):
            self.engine.wait(transfer)


def _no_transfer() -> Value:
    return numbers.constant(_NO_TRANSFER, transfer_number())


def _start(op: Operation, tags: _Tags, memory: LocalMemory) -> None:
    local, main = sides_of(op, memory)
    rows = rows_of(local, main, counts_rows=tags.engine.counts_rows)
    writer = _CommandWriter(
        memory.holds(target_of(op)),
        local,
        main,
        _with_bursts(rows, local.element_bytes, tags.engine),
        tags,
    )
    if not tags.may_be_none:
        writer.write()
        return
    tags.store(_no_transfer())
    count: Offset = 1
    for size in local.sizes:
        count = numbers.multiply(count, size)
    with branch(numbers.less(0, count)):
        writer.write()


@dataclass(frozen=True)
class _CommandWriter:
    """Writes the commands of one transfer."""

    to_local: bool
    local: Layout
    main: Layout
    rows: Rows
    tags: _Tags

    def write(self) -> None:
        outer = self.rows.outer
        if not outer:
            self.tags.store(self._command(0, 0, self.rows.elements))
            return
        if self.tags.slots == 1:
            self.tags.store(_no_transfer())
        self._loop(outer, 0, 0, 0, 0)

    def _loop(
        self,
        outer: Sequence[Dimension],
        position: Offset,
        local: Offset,
        main: Offset,
        index: Offset,
    ) -> None:
        """One loop per dimension; without a slot per command, each waits for the one before."""
        if not outer:
            elements = self._elements(index)
            if self.tags.slots > 1:
                self.tags.store(self._command(local, main, elements), position)
                return
            before = self.tags.load()
            self.tags.store(self._command(local, main, elements))
            self.tags.wait_for(before, may_be_none=True)
            return
        dim, *rest = outer
        with loop(0, dim.size) as iteration:
            number = iteration.index
            self._loop(
                rest,
                numbers.add(numbers.multiply(position, dim.size), number),
                numbers.add(local, numbers.multiply(number, dim.local)),
                numbers.add(main, numbers.multiply(number, dim.main)),
                number,
            )

    def _elements(self, burst: Offset) -> Offset:
        """The elements of a row, or of burst number `burst` of a row that is too long."""
        most = _burst_elements(self.tags.engine, self.local.element_bytes)
        elements = self.rows.elements
        if most is None or (isinstance(elements, int) and elements <= most):
            return elements
        if isinstance(elements, int) and elements % most == 0:
            return most
        return numbers.minimum(most, numbers.subtract(elements, numbers.multiply(burst, most)))

    def _command(self, local: Offset, main: Offset, elements: Offset) -> Value:
        counted, nbytes = self.rows.counted, self.local.element_bytes
        row_bytes = numbers.as_value(numbers.multiply(elements, nbytes))
        strides = [row_bytes] * 2
        if counted is not None:
            strides = [numbers.constant(step * nbytes) for step in (counted.local, counted.main)]
        return self.tags.engine.start(
            Command(
                self.to_local,
                self.local.address(local),
                strides[0],
                self.main.address(main),
                strides[1],
                row_bytes,
                numbers.as_value(counted.size if counted is not None else 1),
            )
        )
