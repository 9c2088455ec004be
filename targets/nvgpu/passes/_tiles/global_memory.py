# SPDX-License-Identifier: Apache-2.0
"""A thread's accesses to tiles in global memory: addresses, bounds and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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
from xtc_targets.nvgpu.passes._tiles.bounds import TileBounds, both, chosen, loaded
from xtc_targets.nvgpu.passes._tiles.row_ends import RowEnds
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
        sizes: in elements; 32-bit values if unknown.
        strides: in elements; values of 32 or 64 bits if unknown.
    """

    address: Value
    sizes: list[Number]
    strides: list[Number]
    element: Type


def changes_in_loop(number: Number) -> bool:
    """Whether a value is defined in a loop, so that it may change there."""
    if isinstance(number, int):
        return False
    owner = number.owner
    around = owner.owner.operation if isinstance(owner, Block) else owner.operation.parent
    while around.name != "func.func":
        if around.name in ("scf.for", "scf.while"):
            return True
        around = around.operation.parent
    return False


@dataclass(frozen=True)
class _Run:
    """One access of a thread.

    Attributes:
        positions: of its elements among the thread's.
        behind: the offset of the first of them from the thread's first element.
    """

    positions: Sequence[int]
    behind: Sequence[int]
    address: Value

    @property
    def count(self) -> int:
        return len(self.positions)


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
    """A thread's view of a tile in global memory.

    Args:
        inside: whether a range of a dimension is known to be inside the tensor.
        packed: maximum elements of an access.
        is_ragged: whether the end of the tensor may lie between them.
    """

    def __init__(
        self,
        view: GlobalView,
        layout: RegisterLayout,
        shape: Sequence[int],
        dims: Sequence[int],
        offsets: Sequence[Number],
        thread: Value,
        inside: Callable[[int, int], bool],
        packed: int,
        is_ragged: bool,
    ) -> None:
        self.view, self.layout, self.shape, self.dims = view, layout, tuple(shape), dims
        self.packed = math.gcd(packed, shape[-1])
        base = self._base = thread_base(layout, thread)
        self.bounds = TileBounds(layout, shape, base)
        self._offsets, self._starts = offsets, list(offsets)
        for at, dim in enumerate(dims):
            self._starts[dim] = add(self._starts[dim], base[at])
        self._inside = inside
        last = dims[-1]
        self.ends: RowEnds | None = None
        if is_ragged and not inside(last, shape[-1]):
            self.ends = RowEnds(view.sizes[last], offsets[last], self._starts[last], shape[-1])
        self._conditions: dict[tuple[int, int], Value | bool] = {}
        self._deltas: dict[tuple[int, int], Value] = {}
        moving = [changes_in_loop(offset) for offset in offsets]
        own: list[Number] = [0] * len(offsets)
        for at, dim in enumerate(dims):
            own[dim] = base[at]
        fixed = [
            add(mine, 0 if moves else offset)
            for mine, offset, moves in zip(own, offsets, moving, strict=True)
        ]
        rest = [offset if moves else 0 for offset, moves in zip(offsets, moving, strict=True)]
        # Loop-invariant terms first: they are computed once.
        first = advanced(advanced(view.address, self._bytes(fixed)), self._bytes(rest))
        self._addresses = self._first = {(0,) * len(dims): first}

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
        fixed, moved = 0, [0] * len(self.dims)
        for at, dim in enumerate(self.dims):
            stride = self.view.strides[dim]
            if isinstance(stride, int):
                fixed += behind[at] * stride
            else:
                moved[at] = behind[at]
        return advanced(self._moved(tuple(moved)), fixed * bytes_of(self.view.element))

    def _moved(self, steps: tuple[int, ...]) -> Value:
        """The same for dimensions whose stride is unknown.

        Each address is computed from the previous one: few steps, rather than the distances of all
        rows, then live in registers.
        """
        if steps not in self._addresses:
            last = next(reversed(self._addresses))
            found = self._addresses[last]
            for at, dim in enumerate(self.dims):
                if steps[at] != last[at]:
                    found = advanced(found, self._delta(dim, steps[at] - last[at]))
            self._addresses[steps] = found
        return self._addresses[steps]

    def _delta(self, dim: int, steps: int) -> Value:
        if (dim, steps) not in self._deltas:
            nbytes = steps * bytes_of(self.view.element)
            self._deltas[dim, steps] = arith.muli(
                wide_signed(self.view.strides[dim]), wide_signed(nbytes)
            )
        return self._deltas[dim, steps]

    def inside(self, behind: Sequence[int], count: int = 1) -> Value | bool:
        """Whether `count` elements from offset `behind` on are inside the tensor.

        The offset is from the thread's first element. Unless the tile has row ends, one element
        suffices.
        """
        reach = count - 1 if self.ends else 0
        return both(self._is_in_row(behind), self._condition(self.dims[-1], behind[-1] + reach))

    def _is_in_row(self, behind: Sequence[int]) -> Value | bool:
        """The same for all dimensions but the tile's last."""
        conditions = []
        for dim in range(len(self.view.sizes)):
            if dim != self.dims[-1]:
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

    def _is_whole(self) -> Value | bool:
        """Whether the whole tile is inside the tensor: the same for all threads."""
        conditions = []
        for dim, size in enumerate(self.view.sizes):
            extent = self.shape[self.dims.index(dim)] if dim in self.dims else 1
            if not self._inside(dim, extent):
                first = as_i32(self._offsets[dim])
                conditions.append(compare("ult", first, size))
                conditions.append(compare("ult", add(first, extent - 1), size))
        return all_of(conditions)

    def _groups(self) -> list[list[int]]:
        """Positions, grouped into the runs of single accesses."""
        return groups_of(self.layout, len(self.dims) - 1, self.packed)

    def _runs(self, groups: Sequence[Sequence[int]]) -> Iterator[_Run]:
        """The single accesses to a thread's elements; an address is computed when it is asked for.

        Each branch computes addresses and conditions again: before it, all would be live at once.
        """
        self.bounds = TileBounds(self.layout, self.shape, self._base)
        self._addresses, self._deltas, self._conditions = dict(self._first), {}, {}
        for group in groups:
            behind = self.layout.local_offsets[group[0]]
            yield _Run(group, behind, self.address(behind))

    def _is_inside(self, run: _Run) -> Value | bool:
        return both(self.bounds.inside(run.behind), self.inside(run.behind, run.count))

    def _is_row(self, run: _Run) -> Value | bool:
        return both(self.bounds.inside(run.behind), self._is_in_row(run.behind))

    def load(self, loads: Value | bool = True) -> Value:
        """Load the thread's elements of the tile; 0 outside the tensor, and in threads that do not
        load."""
        groups = self._groups()
        count = len(groups[0])
        type = VectorType.get([count], self.view.element)

        def load(run: _Run, inside: Value | bool) -> Value:
            vector = partial(load_vector, run.address, type.element_type, count)
            return loaded(both(loads, inside), type, vector)

        def load_inside() -> Sequence[Value]:
            runs, parts = [], []
            for run in self._runs(groups):
                runs.append(run)
                parts.append(load(run, self._is_inside(run)))
            return self._with_ends(runs, parts, loads) if self.ends and count > 1 else parts

        parts = chosen(
            self._is_whole() if len(groups) > 1 else False,
            [type] * len(groups),
            lambda: [load(run, self.bounds.inside(run.behind)) for run in self._runs(groups)],
            load_inside,
        )
        named = list(zip(groups, parts, strict=True))
        return assembled(named, self.view.element, self.layout.local_size)

    def _with_ends(
        self, runs: Sequence[_Run], parts: Sequence[Value], loads: Value | bool
    ) -> Sequence[Value]:
        """Load those of the given vectors that the end of the tensor divides."""
        ends = self.ends
        assert ends is not None  # noqa: S101
        return chosen(
            ends.divides(runs[0].count),
            [found.type for found in parts],
            lambda: [
                ends.load(found, run.address, run.behind[-1], both(loads, self._is_row(run)))
                for run, found in zip(runs, parts, strict=True)
            ],
            lambda: parts,
        )

    def store(self, value: Value, thread: Value) -> None:
        """Store the thread's elements of a tile, except for those outside the tensor."""
        groups = self._groups()

        def store(inside: Callable[[_Run], Value | bool]) -> list[_Run]:
            runs = []
            for run in self._runs(groups):
                runs.append(run)
                is_inside = inside(run)
                if is_inside is not False:
                    with control.branch(is_inside):
                        store_vector(part(value, run.positions), run.address)
            return runs

        def store_whole() -> list[Value]:
            store(lambda run: self.bounds.inside(run.behind))
            return []

        def store_inside() -> list[Value]:
            runs = store(self._is_inside)
            if self.ends and runs[0].count > 1:
                with control.branch(self.ends.divides(runs[0].count)):
                    for run in runs:
                        values = part(value, run.positions)
                        self.ends.store(values, run.address, run.behind[-1], self._is_row(run))
            return []

        is_whole = self._is_whole() if len(groups) > 1 else False
        with control.branch(all_of(first_replica(self.layout, thread))):
            chosen(is_whole, [], store_whole, store_inside)
