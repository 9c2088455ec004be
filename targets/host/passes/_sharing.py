# SPDX-License-Identifier: Apache-2.0
"""Decides whether two buffers can share memory without changing the result of any read."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from xtc.ir.analysis.effects import written_memrefs
from xtc.ir.analysis.views import VIEWS, are_apart, root, shares_nothing
from xtc.ir.mlir import (
    BlockArgument,
    InsertionPoint,
    MemRefType,
    Operation,
    OpResult,
    Value,
)
from xtc_passes.local._functions import ancestor_in
from xtc_targets.host.passes._strided_views import (
    allows_strides,
    as_buffer,
    is_static,
    is_whole,
    replace_by_view,
    strides_before,
    strides_of,
    views_before,
)


@dataclass(frozen=True)
class Sharing:
    """A buffer, of which `whole` is a full view, that could become `part` of another buffer."""

    whole: Value
    part: Value
    strides: tuple[int, ...]
    function: Operation

    @staticmethod
    def of(whole: Value, part: Value, function: Operation) -> Sharing | None:
        """The candidate, with the buffer's new strides; None if it cannot have them."""
        buffer, other = root(whole), root(part)
        if buffer == other or not _is_allocated(buffer, function) or not is_whole(whole):
            return None
        if not is_static(part) or not (
            shares_nothing(other)
            if isinstance(other, BlockArgument)
            else _is_beside(other, function)
        ):
            return None
        strides = strides_before(whole, strides_of(part))
        if strides is None or (strides and strides[-1] != 1):
            return None
        if not allows_strides(buffer, strides):
            return None
        return Sharing(whole, part, strides, function)

    def is_unseen(self) -> bool:
        """Whether no read changes its result if the two share memory.

        The contents of both buffers and of the shared memory are tracked as version numbers: each
        operation that may write makes a new version. A buffer that was not written has arbitrary
        contents.
        """
        outlives = not _is_allocated(root(self.part), self.function)
        shared: int | None = 0 if outlives else None
        held: dict[str, int | None] = {"whole": None, "part": shared}
        for number, event in enumerate(self._events(), start=1):
            if event.is_copy and all(held[end] in (None, shared) for end in event.read):
                (source,), (target,) = event.read, event.written
                held[target] = held[source]
                continue
            ends = event.read | event.written
            if event.is_copy or any(held[end] not in (None, shared) for end in ends):
                return False
            if event.written:
                if len(ends) > 1:
                    return False
                shared = held[next(iter(ends))] = number
        return not outlives or held["part"] == shared

    def _events(self) -> Iterator[_Event]:
        """The accesses to both buffers, in the order of the function's operations."""
        accesses = [*self._accesses("whole"), *self._accesses("part")]
        for op, found in itertools.groupby(sorted(accesses, key=_BY_ORDER), lambda at: at.around):
            ends = [(access.end, access.writes) for access in found]
            read = frozenset(end for end, writes in ends if not writes)
            written = frozenset(end for end, writes in ends if writes)
            yield _Event(read, written, self._is_same(op))

    def _is_same(self, op: Operation) -> bool:
        """Whether an operation copies between the same elements as the copy to remove."""
        if op.name != "memref.copy":
            return False
        ends = list(op.operands)
        if root(ends[0]) == root(self.part):
            ends.reverse()
        return is_same_memory(ends[0], self.whole) and is_same_memory(ends[1], self.part)

    def _accesses(self, end: str) -> Iterator[_Access]:
        buffer = root(self.whole if end == "whole" else self.part)
        for op, view in _uses(buffer):
            around = ancestor_in(op, self.function)
            if around is None or (end == "part" and _is_apart(view, self.part)):
                continue
            yield _Access(around, end, any(view == value for value in written_memrefs(op)))

    def apply(self) -> None:
        """Replace the buffer by the part of the other one."""
        buffer, other = root(self.whole), root(self.part)
        first = buffer.owner
        if not isinstance(other, BlockArgument) and first.is_before_in_block(other.owner):
            other.owner.move_before(first)
        view = as_buffer(self.whole, self.part, self.strides, InsertionPoint(first))
        replace_by_view(buffer, view)
        first.erase()


@dataclass(frozen=True)
class _Access:
    """An operation of the function's block, and the buffer that it or a nested one uses."""

    around: Operation
    end: str
    writes: bool


def _compared(a: _Access, b: _Access) -> int:
    if a.around == b.around:
        return 0
    return -1 if a.around.is_before_in_block(b.around) else 1


_BY_ORDER = functools.cmp_to_key(_compared)


@dataclass(frozen=True)
class _Event:
    """The accesses of an operation to the two buffers."""

    read: frozenset[str]
    written: frozenset[str]
    is_copy: bool


def _is_allocated(buffer: Value, function: Operation) -> bool:
    """Whether a buffer is allocated at the top level of a function, with a known size."""
    return (
        isinstance(buffer, OpResult)
        and buffer.owner.name == "memref.alloc"
        and not len(buffer.owner.operands)
        and buffer.owner.parent.operation == function
    )


def _is_beside(other: Value, function: Operation) -> bool:
    """Whether a buffer is a constant, or allocated at the top level of a function."""
    return _is_allocated(other, function) or other.owner.name == "memref.get_global"


def _uses(buffer: Value) -> Iterator[tuple[Operation, Value]]:
    """The uses of a buffer and of its views, each with the view, except by views."""
    for use in buffer.uses:
        op = use.owner.operation
        if op.name in VIEWS:
            yield from _uses(op.results[0])
        else:
            yield op, buffer


def _is_apart(view: Value, part: Value) -> bool:
    """Whether `view`, or a view that it is taken from, is disjoint from `part`."""
    around = [view, *(op.operands[0] for op in reversed(views_before(view)))]
    inside = [part, *(op.operands[0] for op in reversed(views_before(part)))]
    return any(are_apart(value, other) for value in around for other in inside)


def is_same_memory(view: Value, other: Value) -> bool:
    """Whether two static views cover the same elements in the same order."""
    if root(view) != root(other) or not (is_static(view) and is_static(other)):
        return False
    types = [MemRefType(value.type) for value in (view, other)]
    layouts = [(list(type.shape), *type.get_strides_and_offset()) for type in types]
    return layouts[0] == layouts[1]
