# SPDX-License-Identifier: Apache-2.0
"""Global memory with a shadow: which block wrote and read each element last.

Nothing orders two blocks of a launch, so an element that a block writes is nobody else's. Within a
block the same rules hold as for shared memory, but for two instructions that hold the same elements
in the same registers of the same threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.core.errors import UserError
from xtc.tile.interpreter.actors import Actors
from xtc.tile.interpreter.report import RaceError
from xtc.tile.interpreter.shared import elements, first

Array = np.ndarray[Any, Any]
_NOBODY = -1


@dataclass
class Buffer:
    """The memory behind an argument, as bytes, with a shadow for each.

    Attributes:
        raw: the bytes.
        write_block, write_time, writer: block, time in it, and operation of the last write.
        read_block, read_time, reader: likewise of the last read.
        held: a number for the positions of elements over threads in the last access.
        write_actor, read_actor: which threads of the block did so.
    """

    raw: Array
    write_block: Array
    write_time: Array
    writer: Array
    read_block: Array
    read_time: Array
    reader: Array
    held: Array
    write_actor: Array
    read_actor: Array

    @staticmethod
    def over(array: Array) -> Buffer:
        """The memory of a NumPy array, which is contiguous."""
        raw = array.reshape(-1).view(np.uint8)
        shadows = (np.full(raw.size, _NOBODY, np.int64) for _ in range(7))
        return Buffer(raw, *shadows, *(np.zeros(raw.size, np.int64) for _ in range(2)))


@dataclass
class GlobalMemory:
    """A strided view of a buffer; `begin`, sizes and strides in elements."""

    buffer: Buffer
    dtype: np.dtype[Any]
    begin: int
    sizes: Sequence[int]
    strides: Sequence[int]

    def positions(
        self, offsets: Sequence[int], dims: Sequence[int], shape: Sequence[int]
    ) -> tuple[Array, Array]:
        """For each element of a tile its first byte, and whether it is inside of the tensor.

        Raises UserError where the tensor is larger than the array behind it.
        """
        position = np.full(tuple(shape), self.begin, np.int64)
        inside = np.ones(tuple(shape), bool)
        for dim, (size, stride) in enumerate(zip(self.sizes, self.strides, strict=True)):
            index = np.full(tuple(shape), int(offsets[dim]), np.int64)
            if dim in dims:
                at = list(dims).index(dim)
                along = np.arange(shape[at]).reshape(
                    [-1 if n == at else 1 for n in range(len(shape))]
                )
                index = index + along
            position = position + index * int(stride)
            inside &= (index >= 0) & (index < int(size))
        nbytes = position * self.dtype.itemsize
        outside = inside & ((nbytes < 0) | (nbytes + self.dtype.itemsize > self.buffer.raw.size))
        if outside.any():
            raise UserError(
                "a global tensor is larger than the array behind its pointer",
                notes=[
                    f"sizes {list(self.sizes)}, strides {list(self.strides)}",
                    f"the array has {self.buffer.raw.size // self.dtype.itemsize} elements",
                    f"elements {elements(outside)} of the tile are outside",
                ],
            )
        return nbytes, inside

    def flat(self) -> Array:
        """All elements of the buffer."""
        size = self.dtype.itemsize
        return self.buffer.raw[: self.buffer.raw.size // size * size].view(self.dtype)

    def require_inside(self, positions: Array, inside: Array) -> None:
        """Raise UserError where elements inside of the tensor are outside of the array."""
        count = self.buffer.raw.size // self.dtype.itemsize
        if (inside & ((positions < 0) | (positions >= count))).any():
            raise UserError(
                "a global tensor is larger than the array behind its pointer",
                notes=[f"sizes {list(self.sizes)}", f"the array has {count} elements"],
            )

    def gather(self, positions: Array, inside: Array) -> Array:
        """The elements at these bytes, 0 for those that are not inside."""
        flat = self.buffer.raw[: self.buffer.raw.size // self.dtype.itemsize * self.dtype.itemsize]
        values = flat.view(self.dtype)
        result = np.zeros(positions.shape, self.dtype)
        result[inside] = values[positions[inside] // self.dtype.itemsize]
        return result

    def scatter(self, positions: Array, inside: Array, value: Array) -> None:
        """Write the elements that are inside."""
        flat = self.buffer.raw[: self.buffer.raw.size // self.dtype.itemsize * self.dtype.itemsize]
        flat.view(self.dtype)[positions[inside] // self.dtype.itemsize] = value[inside]


class GlobalChecker:
    """Checks accesses of blocks to global memory.

    Attributes:
        block: the block that runs.
        known: of other blocks, the time before which all that they did is seen by this block.
    """

    def __init__(
        self, fail: Callable[[str, str, int, str, str], RaceError], atomics: frozenset[int]
    ) -> None:
        self.fail = fail
        self.block = 0
        self.known: dict[int, int] = {}
        self._held: dict[Any, int] = {}
        self._atomics = np.array(sorted(atomics), np.int64)

    def read(
        self, buffer: Buffer, positions: Array, inside: Array, op: int, actors: Actors, held: Any
    ) -> None:
        """A load, or a copy that begins."""
        number, at = self._number(held, op), positions[inside]
        self._other_blocks(_writes(buffer, at), inside, "reads", "writes")
        same = self._own_writes(buffer, at, actors)
        self._own(same & (buffer.held[at] != number), buffer.writer[at], inside, "reads", "written")
        buffer.read_block[at], buffer.read_time[at], buffer.reader[at] = self.block, actors.now, op
        buffer.read_actor[at] = actors.current.number
        buffer.held[at] = np.where(same, buffer.held[at], number)

    def write(
        self, buffer: Buffer, positions: Array, inside: Array, op: int, actors: Actors, held: Any
    ) -> None:
        """A store."""
        number, at = self._number(held, op), positions[inside]
        self._other_blocks(_writes(buffer, at), inside, "writes", "writes")
        self._other_blocks(_reads(buffer, at), inside, "writes", "reads")
        own = self._own_writes(buffer, at, actors)
        self._own(own & (buffer.held[at] != number), buffer.writer[at], inside, "writes", "written")
        own = self._own_reads(buffer, at, actors)
        self._own(own & (buffer.held[at] != number), buffer.reader[at], inside, "writes", "read")
        self._note_write(buffer, at, op, actors)
        buffer.held[at] = number

    def combine(
        self, buffer: Buffer, positions: Array, inside: Array, op: int, actors: Actors
    ) -> None:
        """An atomic access, which races with none but those that are not atomic."""
        at = positions[inside]
        writes, reads = _writes(buffer, at), _reads(buffer, at)
        self._other_blocks(writes, inside, "writes", "writes", np.isin(writes[2], self._atomics))
        self._other_blocks(reads, inside, "writes", "reads")
        plain = ~np.isin(writes[2], self._atomics)
        own = self._own_writes(buffer, at, actors) & plain
        self._own(own, writes[2], inside, "writes", "written")
        own = self._own_reads(buffer, at, actors)
        self._own(own, reads[2], inside, "writes", "read")
        self._note_write(buffer, at, op, actors)
        buffer.held[at] = self._number(None, op)

    def _own_writes(self, buffer: Buffer, at: Array, actors: Actors) -> Array:
        """Bytes that the block wrote, which the current threads have not seen."""
        missed = actors.current.misses(buffer.write_actor[at], buffer.write_time[at])
        own: Array = (buffer.write_block[at] == self.block) & missed
        return own

    def _own_reads(self, buffer: Buffer, at: Array, actors: Actors) -> Array:
        missed = actors.current.misses(buffer.read_actor[at], buffer.read_time[at])
        own: Array = (buffer.read_block[at] == self.block) & missed
        return own

    def _note_write(self, buffer: Buffer, at: Array, op: int, actors: Actors) -> None:
        buffer.write_block[at], buffer.write_time[at] = self.block, actors.now
        buffer.writer[at], buffer.write_actor[at] = op, actors.current.number

    def _number(self, held: Any, op: int) -> int:
        """A number for how threads hold a tile; an asynchronous copy's is its own."""
        key = held if held is not None else ("copy", op)
        return self._held.setdefault(key, len(self._held))

    def _other_blocks(
        self,
        accesses: tuple[Array, Array, Array],
        inside: Array,
        does: str,
        did: str,
        allowed: Array | None = None,
    ) -> None:
        owners, times, ops = accesses
        wrong = (owners != _NOBODY) & (owners != self.block)
        if allowed is not None:
            wrong &= ~allowed
        for block, time in self.known.items():
            wrong &= (owners != block) | (times >= time)
        if wrong.any():
            raise self.fail(
                "two blocks",
                f"a block {does} global memory that another block of the launch {did}",
                int(ops[first(wrong)]),
                elements(spread(wrong, inside)),
                "let each block write elements of its own, order them by lock_semaphore and "
                "release_semaphore, or launch two kernels",
            )

    def _own(self, wrong: Array, ops: Array, inside: Array, does: str, did: str) -> None:
        if wrong.any():
            raise self.fail(
                "missing sync",
                f"a block {does} global memory that its threads have {did} since the last sync",
                int(ops[first(wrong)]),
                elements(spread(wrong, inside)),
                "insert self.sync() between both",
            )


def spread(wrong: Array, inside: Array) -> Array:
    """A mask of the inside elements as a mask of the tile."""
    whole = np.zeros(inside.shape, bool)
    whole[inside] = wrong
    return whole


def _writes(buffer: Buffer, at: Array) -> tuple[Array, Array, Array]:
    """Block, time and operation of the last write of bytes."""
    return buffer.write_block[at], buffer.write_time[at], buffer.writer[at]


def _reads(buffer: Buffer, at: Array) -> tuple[Array, Array, Array]:
    """Likewise of the last read."""
    return buffer.read_block[at], buffer.read_time[at], buffer.reader[at]
