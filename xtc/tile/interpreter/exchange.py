# SPDX-License-Identifier: Apache-2.0
"""Elementwise accesses to shared and global memory (semaphores, atomic instructions, scattered
stores), and printing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.core.errors import UserError
from xtc.ir.builders.tile import number_of
from xtc.ir.mlir import Operation, StringAttr, Value
from xtc.ir.tile_dialect import layout_of
from xtc.tile.interpreter.actors import Actors
from xtc.tile.interpreter.block_part import BlockPart
from xtc.tile.interpreter.combining import combined, printed
from xtc.tile.interpreter.elements import Array, elements
from xtc.tile.interpreter.events import ATOMIC, PLAIN
from xtc.tile.interpreter.knowledge import NOTHING, all_of
from xtc.tile.interpreter.memory import GlobalMemory, Touched
from xtc.tile.interpreter.semaphores import Semaphore
from xtc.tile.interpreter.shared import Checker, SharedMemory

_RELEASES = ("release", "acq_rel")
Cell = tuple[int, int]
"""An element of a memory: the identity of the memory, and a position."""


@dataclass(frozen=True)
class _Elements:
    """The elements of shared memory, in order."""

    memory: SharedMemory

    def __getitem__(self, position: int) -> Any:
        return self.memory.shadow.values[self.memory.positions.reshape(-1)[position]]

    def __setitem__(self, position: int, value: Any) -> None:
        self.memory.shadow.values[self.memory.positions.reshape(-1)[position]] = value


class Exchange(BlockPart):
    """A part of the interpreter of a block."""

    launch: Any
    values: dict[Value, Any]
    checker: Checker
    actors: Actors
    event: Any
    position: tuple[int, ...]

    def _semaphore(self, op: Operation) -> tuple[Array, Semaphore, Touched]:
        buffer, offset = self.get(op, 0), int(self.get(op, 1))
        words = buffer.raw[: buffer.raw.size // 4 * 4].view(np.int32)
        if not 0 <= offset < words.size:
            raise UserError(
                f"semaphore {offset} is outside of the {words.size} semaphores",
                hints=[
                    "allocate more: self.global_tensor(dtype=int32, shape=[n], requires_clean=True)"
                ],
            )
        word = words[offset : offset + 1]
        known = self.launch.semaphores.setdefault((id(buffer), offset), Semaphore(int(word[0])))
        view = GlobalMemory(buffer, words.dtype, 0, [words.size], [1])
        return word, known, Touched(view, np.array([4 * offset]), np.ones(1, bool))

    def lock(self, op: Operation) -> None:
        word, semaphore, touched = self._semaphore(op)
        value, group = int(self.get(op, 2)), self.actors.current
        self.wait_until(
            lambda: int(word[0]) == value,
            lambda: f"waits for a semaphore to become {value}; it is {int(word[0])}",
            op,
        )
        known = semaphore.released(value, group.actors[0])
        if known is None:  # atomic instructions have set it
            (cell,) = self._cells(touched.memory, touched.positions // word.itemsize)
            known = self.launch.released.get(cell, NOTHING)
        group.actors[0].learn(known)
        self.launch.global_checker.combine(touched, self.event(self.number(op), ATOMIC), group)
        group.sync()

    def release(self, op: Operation) -> None:
        word, semaphore, touched = self._semaphore(op)
        word[0] = int(self.get(op, 2))
        group = self.actors.current
        event = self.event(self.number(op), ATOMIC)
        self.launch.global_checker.combine(touched, event, group)
        semaphore.release(int(word[0]), event, group.released_by_first())

    def buffer(self, op: Operation) -> None:
        """Nothing: the launch has allocated it."""

    def atomic(self, op: Operation) -> None:
        kind, dim = str(op.attributes["kind"]).strip('"'), number_of(op, "dim")
        memory, values = self.get(op, 0), self.get(op, 1)
        extra = self.get(op, 2) if len(op.operands) > 2 else None
        where, inside = self._scattered(op, memory, values.shape, dim, extra)
        compared: Any = extra if kind == "cas" else values
        before = np.zeros_like(values)
        order = str(op.attributes["order"]).strip('"')
        releases = order in _RELEASES and kind != "cas"
        flat = self._atomic_access(op, memory, where, inside, releases)
        stored = np.ones(values.shape, bool)
        for index in np.ndindex(values.shape):
            if inside[index]:
                position = where[index]
                before[index] = flat[position]
                flat[position] = combined(kind, flat[position], values[index], compared[index])
                stored[index] = kind != "cas" or before[index] == compared[index]
        self._order(order, self._cells(memory, where[inside]), stored[inside])
        places = zip(where[inside], before[inside], strict=True)
        if all(flat[place] == old for place, old in places):
            self.look_again(op)
        self.set(op, before)

    def store_scatter(self, op: Operation) -> None:
        value, memory, indices = (self.get(op, number) for number in range(3))
        where, inside = self._scattered(op, memory, value.shape, number_of(op, "dim"), indices)
        self._require_apart(op, where, inside, value)
        flat = self._scatter_access(op, memory, where, inside)
        for index in np.ndindex(value.shape):
            if inside[index]:
                flat[where[index]] = value[index]

    def _require_apart(self, op: Operation, where: Array, inside: Array, value: Array) -> None:
        """Raise RaceError if elements with the same location have different values."""
        numbers = np.flatnonzero(inside)
        order = numbers[np.argsort(where.reshape(-1)[numbers], kind="stable")]
        places, bits = where.reshape(-1)[order], value.reshape(-1)[order].view(np.uint8)
        bits = bits.reshape(len(order), value.dtype.itemsize)
        wrong = (places[1:] == places[:-1]) & (bits[1:] != bits[:-1]).any(axis=1)
        if wrong.any():
            mask = np.zeros(where.size, bool)
            mask[order[1:][wrong]] = mask[order[:-1][wrong]] = True
            raise self.launch.fail(
                "one place",
                "a scattered store writes several elements to one location: any one may remain",
                None,
                elements(mask.reshape(where.shape)),
                "use distinct indices, or atomic instructions; an index outside stores nothing",
            )

    def _scattered(
        self, op: Operation, memory: Any, shape: Sequence[int], dim: int, indices: Any
    ) -> tuple[Array, Array]:
        """The offset of each element in the memory, and whether it is in bounds."""
        along = list(np.indices(tuple(shape)))
        if dim >= 0:
            along[dim] = indices.astype(np.int64)
        sizes = memory.sizes if isinstance(memory, GlobalMemory) else memory.shape
        inside = np.ones(tuple(shape), bool)
        for number, size in zip(along, sizes, strict=True):
            inside &= (number >= 0) & (number < int(size))
        if not isinstance(memory, GlobalMemory):
            safe = [np.where(inside, number, 0) for number in along]
            return np.ravel_multi_index(safe, memory.shape), inside
        position = np.full(tuple(shape), memory.begin, np.int64)
        for number, stride in zip(along, memory.strides, strict=True):
            position = position + number * int(stride)
        memory.require_inside(position, inside)
        return position, inside

    def _atomic_access(
        self, op: Operation, memory: Any, where: Array, inside: Array, releases: bool
    ) -> Any:
        if isinstance(memory, GlobalMemory):
            touched = Touched(memory, where * memory.dtype.itemsize, inside)
            event = self.event(self.number(op), ATOMIC, held=self._held_by(op, memory))
            if releases and inside.sum() == 1:
                (cell,), clock = self._cells(memory, where[inside]), self.actors.clock
                event.cell = clock.column_of(cell), clock.now
            self.launch.global_checker.combine(touched, event, self.actors.current)
            return memory.flat()
        self.checker.combine(memory, where[inside], self.number(op))
        return _Elements(memory)

    def _held_by(self, op: Operation, memory: GlobalMemory) -> Any:
        """The key of the distribution of elements over threads; None if indices determine it."""
        if number_of(op, "dim") >= 0:
            return None
        layout, rank = str(layout_of(op.operands[1])), len(memory.sizes)
        return memory.held(self.actors.current, layout, [0] * rank, range(rank))

    def _order(self, order: str, cells: list[Cell], stored: Array) -> None:
        """Acquire the releases of others at these cells, and release.

        A cell keeps its releases as long as only atomic instructions change it.
        """
        group, clock = self.actors.current, self.actors.clock
        if order == "relaxed":
            return
        before = {cell: self.launch.released.get(cell, NOTHING) for cell in cells}
        if order in _RELEASES:
            known = group.released_by_one()
            if len(cells) == 1:
                known = known.with_own(clock.number, (clock.column_of(cells[0]),), clock.now)
            for cell, changed in zip(cells, stored, strict=True):
                if changed:
                    self.launch.released[cell] = all_of((before[cell], known))
        if order in ("acquire", "acq_rel"):
            group.acquire(all_of(before.values()))

    @staticmethod
    def _cells(memory: Any, where: Array) -> list[Cell]:
        """The cells of elements in their allocation."""
        if isinstance(memory, GlobalMemory):
            return [(id(memory.buffer), int(at) * memory.dtype.itemsize) for at in where]
        return [(id(memory.shadow), int(at)) for at in memory.positions.reshape(-1)[where]]

    def _scatter_access(self, op: Operation, memory: Any, where: Array, inside: Array) -> Any:
        if isinstance(memory, GlobalMemory):
            touched = Touched(memory, where * memory.dtype.itemsize, inside)
            group = self.actors.current
            held = group.actors[0].clock.number, group.columns, op, hash(where.tobytes())
            event = self.event(self.number(op), PLAIN, held=held)
            self.launch.global_checker.write(touched, event, group)
            return memory.flat()
        self.checker.scatter(memory, where[inside], self.number(op))
        return _Elements(memory)

    def printf(self, op: Operation) -> None:
        values = [self.values[value] for value in op.operands]
        printed(StringAttr(op.attributes["format"]).value, values, _show)


def _show(text: str) -> None:
    print(text, end="", flush=True)
