# SPDX-License-Identifier: Apache-2.0
"""Global memory, and the accesses of blocks to it.

The rules are those of shared memory, except that two instructions with the same elements in the
same registers of the same threads are ordered, because a thread's own accesses are. Blocks are
ordered only by semaphores and atomic instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.core.errors import UserError
from xtc.tile.interpreter.actors import GLOBAL, Group
from xtc.tile.interpreter.elements import Array, elements
from xtc.tile.interpreter.events import BULK_LOAD, BULK_STORE, COPY, Event, Events, History
from xtc.tile.interpreter.report import RaceError
from xtc.tile.interpreter.shared import Fail

_SMALLER = "pass a larger array, or sizes that fit the array; global_view takes the whole tensor's"


@dataclass
class Buffer:
    """The memory behind an argument, as bytes.

    Attributes:
        grain: bytes of a cell, the smallest elements of any view.
        history: the last accesses of each cell.
    """

    raw: Array
    grain: int
    history: History

    @staticmethod
    def over(array: Array, grain: int, events: Events) -> Buffer:
        """The memory of a contiguous NumPy array."""
        raw = array.reshape(-1).view(np.uint8)
        return Buffer(raw, grain, History(-(-raw.size // grain), events))

    def cells(self, positions: Array, size: int) -> Array:
        """The cells of each element, from the elements' first bytes and size."""
        first = positions // self.grain if self.grain > 1 else positions
        if size <= self.grain:
            return first
        each = np.arange(size // self.grain)
        found: Array = first[..., None] + each
        return found


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
        """The first byte of each element of a tile, and whether it is inside of the tensor.

        Raises UserError if the tensor is larger than its array.
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
                hints=[_SMALLER],
            )
        return nbytes, inside

    def held(
        self, group: Group, layout: str, offsets: Sequence[int], dims: Sequence[int]
    ) -> tuple[Any, ...]:
        """A key that is equal for accesses with the same elements in the same threads."""
        begin = self.begin + sum(
            int(at) * int(stride) for at, stride in zip(offsets, self.strides, strict=True)
        )
        steps = (int(self.strides[dim]) for dim in dims)
        clock = group.actors[0].clock.number
        return clock, group.columns, layout, begin, self.dtype.itemsize, *steps

    def flat(self) -> Array:
        """All elements of the buffer."""
        size = self.dtype.itemsize
        return self.buffer.raw[: self.buffer.raw.size // size * size].view(self.dtype)

    def require_inside(self, positions: Array, inside: Array) -> None:
        """Raise UserError if elements inside of the tensor are outside of the array."""
        count = self.buffer.raw.size // self.dtype.itemsize
        if (inside & ((positions < 0) | (positions >= count))).any():
            raise UserError(
                "a global tensor is larger than the array behind its pointer",
                notes=[f"sizes {list(self.sizes)}", f"the array has {count} elements"],
                hints=[_SMALLER],
            )

    def gather(self, positions: Array, inside: Array) -> Array:
        """The elements at these bytes; 0 outside of the tensor."""
        result = np.zeros(positions.shape, self.dtype)
        result[inside] = self.flat()[positions[inside] // self.dtype.itemsize]
        return result

    def scatter(self, positions: Array, inside: Array, value: Array) -> None:
        """Write the elements inside of the tensor."""
        self.flat()[positions[inside] // self.dtype.itemsize] = value[inside]


@dataclass(frozen=True)
class Touched:
    """The elements of a view that an instruction accesses."""

    memory: GlobalMemory
    positions: Array
    inside: Array

    @property
    def cells(self) -> Array:
        """The cells of the elements inside of the tensor."""
        size = self.memory.dtype.itemsize
        return self.memory.buffer.cells(self.positions[self.inside], size)

    @property
    def contents(self) -> Array:
        """The elements; 0 outside of the tensor."""
        return self.memory.gather(self.positions, self.inside)

    @property
    def outside(self) -> str:
        """The elements outside of the tensor, as slices of the tile."""
        return f"elements {elements(~self.inside)} of the tile"

    def where(self, cells: Array) -> str:
        """The elements whose cells are selected, as slices of the tile."""
        whole = np.zeros(self.inside.shape, bool)
        whole[self.inside] = cells.any(axis=-1) if cells.ndim > 1 else cells
        return elements(whole)


class GlobalChecker:
    """Checks accesses of the running group to global memory."""

    def __init__(self, fail: Fail, events: Events) -> None:
        self.fail, self.events = fail, events

    def read(self, touched: Touched, event: Event, group: Group) -> None:
        """Check a load, or the source of an asynchronous copy."""
        cells, history = touched.cells, touched.memory.buffer.history
        found = [*history.writes_at(cells), *history.atomics_at(cells)]
        self._require(found, touched, event, group, "reads")
        if event.kind == BULK_LOAD:
            what = "tma.global_to_shared may not see data that threads have stored"
            self._require_shown(history.writes_at(cells), touched, group, what)
        history.read(cells, self.events.number(event), group.misses)

    def write(self, touched: Touched, event: Event, group: Group) -> None:
        """Check a store, or an asynchronous one."""
        cells, history = touched.cells, touched.memory.buffer.history
        self._require(history.writes_at(cells), touched, event, group, "writes")
        self._require(history.reads_at(cells), touched, event, group, "writes", "read")
        self._require(history.atomics_at(cells), touched, event, group, "writes")
        if event.kind == BULK_STORE:
            what = "tma.shared_to_global may come before data that threads have stored"
            self._require_shown(history.writes_at(cells), touched, group, what)
        history.write(cells, self.events.number(event))

    def combine(self, touched: Touched, event: Event, group: Group) -> None:
        """Check an atomic access, which does not race with other atomic accesses."""
        cells, history = touched.cells, touched.memory.buffer.history
        self._require(history.writes_at(cells), touched, event, group, "writes")
        self._require(history.reads_at(cells), touched, event, group, "writes", "read")
        history.combine(cells, self.events.number(event), group.misses)

    def _require(
        self,
        found: Any,
        touched: Touched,
        event: Event,
        group: Group,
        does: str,
        did: str = "written",
    ) -> None:
        for other, mask in found:
            if group.misses(other) and (event.held is None or other.held != event.held):
                raise self._race(other, touched.where(mask()), group, does, did)

    def _race(self, other: Event, where: str, group: Group, does: str, did: str) -> RaceError:
        if other.position != group.position:
            return self.fail(
                "two blocks",
                f"a block {does} global memory that another block of the launch has {did}",
                other,
                where,
                "let each block write different elements, order the blocks by lock_semaphore and "
                "release_semaphore, or launch two kernels",
            )
        if other.is_flying or other.kind == BULK_LOAD:
            is_copy = other.kind in (COPY, BULK_LOAD)
            return self.fail(
                "read before wait",
                f"a block {does} global memory that {'a copy' if is_copy else 'a TMA store'} may "
                f"still {'read' if did == 'read' else 'write'}",
                other,
                where,
                "wait for it (copy_async_wait_all, mbarrier.wait, tma.wait_group(0)), and then "
                "insert self.sync()",
            )
        return self.fail(
            "missing sync",
            f"a block {does} global memory that its threads have {did} since the last sync",
            other,
            where,
            "insert self.sync() between both",
        )

    def _require_shown(
        self,
        found: Iterator[tuple[Event, Callable[[], Array]]],
        touched: Touched,
        group: Group,
        what: str,
    ) -> None:
        for other, mask in found:
            if any(actor.is_unshown(other, GLOBAL) for actor in group.actors):
                raise self.fail(
                    "missing proxy fence",
                    what,
                    other,
                    touched.where(mask()),
                    'insert self.fence.proxy_async(space="global") after the store, and before '
                    "what orders both",
                )
