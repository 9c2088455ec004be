# SPDX-License-Identifier: Apache-2.0
"""A thread's accesses to tiles in global memory: addresses, bounds and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.analysis.replicas import all_replicas_count, stores_from
from xtc.ir.builders import control
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import Number, add, compare, is_int
from xtc.ir.mlir import (
    Block,
    BlockArgument,
    Operation,
    Type,
    Value,
    VectorType,
    arith,
)
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.passes._thread_code import all_of, as_i32, wide_signed
from xtc_targets.nvgpu.passes._tiles.bounds import TileBounds, both, loaded
from xtc_targets.nvgpu.passes._tiles.shared_memory import (
    assembled,
    bytes_of,
    first_replica,
    groups_of,
    load_vector,
    part,
    store_vector,
    thread_base,
)


@dataclass
class GlobalView:
    """A tensor in global memory.

    Attributes:
        address: the address of its first element.
        sizes, strides: in elements; 32-bit values if unknown.
        widest: maximum elements of an access along the dimension `contiguous`.
    """

    address: Value
    sizes: list[Number]
    strides: list[Number]
    element: Type


def index_in_loop(number: Number) -> bool:
    """Whether a value is defined in a loop or branch, so that it may change there."""
    if isinstance(number, int):
        return False
    owner = number.owner
    around = owner.owner if isinstance(owner, Block) else owner.operation.parent
    return str(around.name) != "func.func"


def loads_in(load: Operation, thread: Value) -> Value | bool:
    """Whether a thread loads its elements: not where the result is stored in place, and depends on
    other threads that load the same elements."""
    layout, memory = known_layout(load.results[0]), _argument(load.operands[0])
    if not layout.replica_digits() or all_replicas_count(load, layout.spatial_size):
        return True
    if all(_argument(store.operands[1]) != memory for store in stores_from(load)):
        return True
    return all_of(first_replica(layout, thread))


def _argument(memory: Value) -> Value:
    """The argument of the kernel, or the shared tensor, that a tensor is a view of."""
    while not isinstance(memory, BlockArgument) and len(memory.owner.operands):
        memory = memory.owner.operands[0]
    return memory


class GlobalTile:
    """A thread's view of a tile in global memory."""

    def __init__(
        self,
        view: GlobalView,
        layout: RegisterLayout,
        shape: Sequence[int],
        dims: Sequence[int],
        offsets: Sequence[Number],
        thread: Value,
        inside: Callable[[int, int], bool],
    ) -> None:
        self.view, self.layout, self.shape, self.dims = view, layout, tuple(shape), dims
        base = thread_base(layout, thread)
        self.bounds = TileBounds(layout, shape, base)
        self._starts = list(offsets)
        for at, dim in enumerate(dims):
            self._starts[dim] = add(self._starts[dim], base[at])
        self._inside = inside
        self._conditions: dict[tuple[int, int], Value | bool] = {}
        self._deltas: dict[tuple[int, int], Number] = {}
        moving = [index_in_loop(offset) for offset in offsets]
        own: list[Number] = [0] * len(offsets)
        for at, dim in enumerate(dims):
            own[dim] = base[at]
        fixed = [
            add(mine, 0 if moves else offset)
            for mine, offset, moves in zip(own, offsets, moving, strict=True)
        ]
        rest = [offset if moves else 0 for offset, moves in zip(offsets, moving, strict=True)]
        # Loop-invariant terms first: they are computed once.
        self._address = advanced(advanced(view.address, self._bytes(fixed)), self._bytes(rest))

    def _bytes(self, index: Sequence[Number]) -> Value | int:
        """The offset of an element from the first one, in bytes."""
        steps = [
            arith.muli(wide_signed(number), wide_signed(stride))
            for number, stride in zip(index, self.view.strides, strict=True)
            if not is_int(number, 0) and not is_int(stride, 0)
        ]
        if not steps:
            return 0
        total = steps[0]
        for step in steps[1:]:
            total = arith.addi(total, step)
        return arith.muli(total, wide_signed(bytes_of(self.view.element)))

    def address(self, behind: Sequence[int]) -> Value:
        """The address of the element at offset `behind` from the thread's first."""
        fixed, moving = 0, self._address
        for at, dim in enumerate(self.dims):
            stride = self.view.strides[dim]
            if isinstance(stride, int):
                fixed += behind[at] * stride
            elif behind[at]:
                moving = advanced(moving, self._delta(dim, behind[at]))
        return advanced(moving, fixed * bytes_of(self.view.element))

    def _delta(self, dim: int, steps: int) -> Value:
        if (dim, steps) not in self._deltas:
            nbytes = steps * bytes_of(self.view.element)
            self._deltas[dim, steps] = arith.muli(
                wide_signed(self.view.strides[dim]), wide_signed(nbytes)
            )
        found = self._deltas[dim, steps]
        assert isinstance(found, Value)  # noqa: S101
        return found

    def inside(self, behind: Sequence[int]) -> Value | bool:
        """Whether the element at offset `behind` from the thread's first is inside the tensor."""
        conditions = []
        for dim in range(len(self.view.sizes)):
            steps = behind[self.dims.index(dim)] if dim in self.dims else 0
            conditions.append(self._condition(dim, steps))
        return all_of([condition for condition in conditions if not isinstance(condition, bool)])

    def _condition(self, dim: int, steps: int) -> Value | bool:
        extent = self.shape[self.dims.index(dim)] if dim in self.dims else 1
        if self._inside(dim, extent):
            return True
        if (dim, steps) not in self._conditions:
            position, size = add(self._starts[dim], steps), self.view.sizes[dim]
            position = as_i32(position) if isinstance(position, int) else position
            self._conditions[dim, steps] = compare("ult", position, size)
        return self._conditions[dim, steps]

    def groups(self, widest: int) -> list[list[int]]:
        """Positions, grouped into the runs of single accesses."""
        return groups_of(self.layout, len(self.dims) - 1, math.gcd(widest, self.shape[-1]))

    def load(self, widest: int, loads: Value | bool = True) -> Value:
        """Load the thread's elements of the tile; 0 outside the tensor, and in threads that do not
        load."""
        parts = []
        for group in self.groups(widest):
            behind = self.layout.local_offsets[group[0]]
            inside = both(loads, both(self.bounds.inside(behind), self.inside(behind)))
            type = VectorType.get([len(group)], self.view.element)
            load = partial(load_vector, self.address(behind), self.view.element, len(group))
            parts.append((group, loaded(inside, type, load)))
        return assembled(parts, self.view.element, self.layout.local_size)

    def store(self, value: Value, widest: int, thread: Value) -> None:
        """Store the thread's elements of a tile, except for those outside the tensor."""
        replica = first_replica(self.layout, thread)
        for group in self.groups(widest):
            behind = self.layout.local_offsets[group[0]]
            inside = both(self.bounds.inside(behind), self.inside(behind))
            if inside is False:
                continue
            conditions = [*replica, *([] if isinstance(inside, bool) else [inside])]
            address = self.address(behind)
            with control.branch(all_of(conditions)):
                store_vector(part(value, group), address)
