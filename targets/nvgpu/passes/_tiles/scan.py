# SPDX-License-Identifier: Apache-2.0
"""Scans along a dimension of a tile: in each step, elements at twice the distance (Hillis and
Steele, "Data parallel algorithms", CACM 1986), through shared memory."""

from __future__ import annotations

from collections.abc import Callable

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.builders.numbers import Number, add, compare, maximum
from xtc.ir.builders.tile import number_of
from xtc.ir.mlir import (
    BoolAttr,
    FloatType,
    Operation,
    Value,
    VectorType,
    arith,
    vector,
)
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tiles.exchange import type_of_sums, with_elements
from xtc_targets.nvgpu.passes._tiles.groups import barrier
from xtc_targets.nvgpu.passes._tiles.identity import identity
from xtc_targets.nvgpu.passes._tiles.shared_memory import SharedView, thread_base, write_shared

_INTEGERS: dict[str, Callable[[Value, Value], Value]] = {
    "add": arith.addi,
    "mul": arith.muli,
    "max": arith.maxsi,
    "min": arith.minsi,
    "umax": arith.maxui,
    "umin": arith.minui,
    "and": arith.andi,
    "or": arith.ori,
    "xor": arith.xori,
}
_FLOATS: dict[str, Callable[[Value, Value], Value]] = {
    "add": arith.addf,
    "mul": arith.mulf,
    "max": arith.maximumf,
    "min": arith.minimumf,
}


def scanned(value: Value, op: Operation, thread: Value, shared: Callable[[], Value]) -> Value:
    """Compute a thread's elements of a scan."""
    layout, dim = known_layout(op.results[0]), number_of(op, "dim")
    element = VectorType(value.type).element_type
    value = with_elements(value, type_of_sums(op, element))
    type = VectorType(value.type)
    kind = str(op.attributes["kind"]).strip('"')
    combine = (_FLOATS if isinstance(element, FloatType) else _INTEGERS)[kind]
    view = SharedView.dense(shared(), op, layout.shape, type.element_type)
    steps = _Steps(op, view, layout, thread)
    barrier(op)
    distance = 1
    while distance < layout.shape[dim]:
        value = steps.taken(value, distance, combine)
        distance *= 2
    if BoolAttr(op.attributes["exclusive"]).value:
        first = identity(kind, type.element_type)
        value = steps.taken(value, 1, lambda before, _: before, first)
    return with_elements(value, element)


class _Steps:
    """Combines each of a thread's elements with the element at a distance before it.

    Elements of the same thread come from registers, others through shared memory. Each element is
    combined when it is read, as registers do not suffice for two copies of a large tile.
    """

    def __init__(
        self, op: Operation, view: SharedView, layout: RegisterLayout, thread: Value
    ) -> None:
        self.op, self.view, self.layout, self.thread = op, view, layout, thread
        self.dim = number_of(op, "dim")
        self.base = thread_base(layout, thread)
        self.held = {offset: at for at, offset in enumerate(layout.local_offsets)}

    def taken(
        self,
        value: Value,
        distance: int,
        combine: Callable[[Value, Value], Value],
        first: Value | None = None,
    ) -> Value:
        """The elements after a step; those without a predecessor become `first`, or are kept."""
        elements = [vector.extract(value, [], [at]) for at in range(len(self.held))]
        found = list(elements)
        exchanges = any(self._is_elsewhere(self._moved(at, distance)) for at in self.held)
        if exchanges:
            write_shared(self.view, self.layout, self.thread, value)
            barrier(self.op)
        read = _Reads(self.view, self.base, self.dim)
        for offset, at in sorted(self.held.items(), key=lambda held: -held[0][self.dim]):
            source = self._moved(offset, distance)
            if source in self.held:
                found[at] = combine(elements[self.held[source]], elements[at])
                continue
            other = elements[at] if first is None else first
            before, exists = read.at(source)
            found[at] = other if before is None else combine(before, elements[at])
            if before is not None and exists is not None:
                found[at] = arith.select(exists, found[at], other)
        if exchanges:
            barrier(self.op)
        return vector.from_elements(value.type, found)

    def _is_elsewhere(self, offset: tuple[int, ...]) -> bool:
        """Whether the element at an offset from the thread's first may be in another thread."""
        first = self.base[self.dim]
        outside = isinstance(first, int) and first + offset[self.dim] < 0
        return offset not in self.held and not outside

    def _moved(self, offset: tuple[int, ...], distance: int) -> tuple[int, ...]:
        """The offset at a distance before `offset`; may be negative."""
        return tuple(n - distance * (at == self.dim) for at, n in enumerate(offset))


class _Reads:
    """Reads elements of shared memory whose position may precede the tile."""

    def __init__(self, view: SharedView, base: list[Number], dim: int) -> None:
        self.view, self.base, self.dim = view, base, dim
        self._kept: dict[int, tuple[list[Number], Value]] = {}

    def at(self, offset: tuple[int, ...]) -> tuple[Value | None, Value | None]:
        """The element at an offset from the thread's first, and the condition that it exists.

        The condition is None if it always exists, the element is None if it never exists.
        """
        step, first = offset[self.dim], self.base[self.dim]
        if step >= 0:
            return self._element(self.base, offset), None
        if isinstance(first, int):
            inside = first + step >= 0
            return (self._element(self.base, offset) if inside else None), None
        if step not in self._kept:
            number = add(first, step)
            index = list(self.base)
            index[self.dim] = maximum(number, 0)
            self._kept[step] = index, compare("sge", as_i32(number), 0)
        index, exists = self._kept[step]
        behind = tuple(0 if at == self.dim else n for at, n in enumerate(offset))
        return self._element(index, behind), exists

    def _element(self, index: list[Number], behind: tuple[int, ...]) -> Value:
        return vector.extract(self.view.load(index, 1, behind), [], [0])
