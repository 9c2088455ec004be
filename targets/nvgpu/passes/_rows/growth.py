# SPDX-License-Identifier: Apache-2.0
"""Grows a group of operations over the same rows from a reduction.

Unlike the groups of a FusionPlanner, which are a result and its producers, these have several
results, and grow from a reduction to producers, readers, and reductions of the same tensors.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.structured import Structured, element_bits, is_shaped
from xtc.ir.mlir import Operation, Value
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._rows.dependences import Dependences
from xtc_targets.nvgpu.passes._rows.row_space import (
    Place,
    RowSpace,
    is_elementwise,
    is_row_reduction,
    loops_at,
    place_of_operand,
    place_of_view,
    space_of,
    suits,
)
from xtc_targets.nvgpu.passes._rows.row_tiling import choose_lanes, pressure_of, registers_of
from xtc_targets.nvgpu.passes._thread_reductions import reduction_of

_VIEWS = ("tensor.expand_shape", "tensor.collapse_shape")
_INSERTIONS = ("tensor.insert_slice", "tensor.parallel_insert_slice")


@dataclass(eq=False)
class RowGroup:
    """Operations that compute each row from the same row.

    Attributes:
        view, dependences: of the block.
        space: the rows.
        device: the device of all operations.
        members: by position, the place of the operation's loops.
        views: the positions of views that add or drop dimensions of size 1 between them.
        places: the place of each tensor that they read or compute.
    """

    view: FunctionView
    dependences: Dependences
    space: RowSpace
    device: str | None
    members: dict[int, Place] = field(default_factory=dict)
    views: set[int] = field(default_factory=set)
    places: dict[Value, Place] = field(default_factory=dict)

    def start(self, position: int, seed: Structured, loops: Place) -> bool:
        """Add the first reduction, if it starts from a filled tensor."""
        if self._fill(seed) is not None:
            self._take(position, seed, loops)
        return bool(self.members)

    def grow(self, taken: set[int]) -> None:
        """Add operations until none fits; `taken` belong to other groups."""
        changed = True
        while changed:
            found = [at for at in sorted(self._neighbors()) if at not in taken and self._add(at)]
            changed = bool(found)

    def _neighbors(self) -> set[int]:
        """The positions of operations that read or compute a tensor of the group."""
        found = set()
        for value in self.places:
            producer = self.view.producers.get(value)
            if producer is not None:
                found.add(self.view.positions[producer])
            users = (self.dependences.position_of(op) for op, _ in self.view.uses.get(value, []))
            found.update(position for position in users if position is not None)
        return found - self.positions

    @property
    def positions(self) -> set[int]:
        """The positions of its operations and views."""
        return set(self.members) | self.views

    def _add(self, position: int) -> bool:
        """Add an operation or a view if it fits."""
        op = self.view.ops[position]
        if op.name in _VIEWS:
            return self._add_view(position, op)
        nest = self.view.nests.get(op)
        if nest is None or nest.device != self.device or not self._is_related(nest):
            return False
        loops = self._loops(nest)
        if loops is None:
            return False
        members = {**self.members, position: loops}
        if not self.dependences.are_convex([*members, *self.views]):
            return False
        if not self.fits(members):
            return False
        self._take(position, nest, loops)
        return True

    def _add_view(self, position: int, op: Operation) -> bool:
        source = self.places.get(op.operands[0])
        if source is None or not self._is_own(op.operands[0]):
            return False
        place = place_of_view(op, source)
        if place is None or not self.dependences.are_convex([*self.positions, position]):
            return False
        self.views.add(position)
        self.places[op.results[0]] = place
        return True

    def _is_own(self, value: Value) -> bool:
        """Whether the group computes a value."""
        producer = self.view.producers.get(value)
        return producer is not None and self.view.positions[producer] in self.positions

    def _is_related(self, nest: Structured) -> bool:
        """Whether an operation is of a kind that fits, and shares more than an operand.

        An elementwise operation that only reads the same operand may be better off elsewhere.
        """
        if self._is_inserted(nest.result):
            return False  # a part of a larger tensor, which others may read
        if nest.reductions:
            return is_row_reduction(nest) and self._fill(nest) is not None
        if not is_elementwise(nest) or not self._is_fresh(nest):
            return False
        operands = list(nest.op.operands)[: nest.destination]
        return nest.result in self.places or any(self._is_own(value) for value in operands)

    def _fill(self, nest: Structured) -> Operation | None:
        """The operation that fills the destination of a reduction."""
        fill = self.view.nest_of(nest.op.operands[nest.destination])
        if fill is None or fill.op.name != "linalg.fill" or not self._is_fresh(fill):
            return None
        return fill.op

    def _is_fresh(self, nest: Structured) -> bool:
        """Whether the destination is a new tensor, not one that other blocks may still read."""
        return self.view.is_produced_by(nest.op.operands[nest.destination], "tensor.empty")

    def _loops(self, nest: Structured) -> Place | None:
        operands = [*list(nest.op.operands)[: nest.destination], nest.result]
        loops = loops_at(nest, self.space, [self.places.get(value) for value in operands])
        return loops if loops is not None and self.takes(nest, loops) else None

    def takes(self, nest: Structured, loops: Place) -> bool:
        """Whether an operation with these loops computes rows from rows that are contiguous."""
        values = (*nest.op.operands, nest.result)
        if len(self.space.column_dims) > 1 and any(map(self._is_part, values)):
            return False
        return suits(nest, self.space, loops)

    def _is_part(self, value: Value) -> bool:
        """Whether a tensor is or becomes a part of a larger one: columns may be apart in memory."""
        producer = self.view.producers.get(value)
        while producer is not None and producer.name in _VIEWS:
            producer = self.view.producers.get(producer.operands[0])
        is_slice = producer is not None and producer.name == "tensor.extract_slice"
        return is_slice or self._is_inserted(value)

    def _is_inserted(self, value: Value) -> bool:
        return any(
            op.name in _INSERTIONS or (op.name in _VIEWS and self._is_inserted(op.results[0]))
            for op, _ in self.view.uses.get(value, [])
        )

    def _take(self, position: int, nest: Structured, loops: Place) -> None:
        self.members[position] = loops
        operands = [*list(nest.op.operands)[: nest.destination], nest.result]
        for number, value in enumerate(operands):
            place = place_of_operand(nest, number, loops)
            assert place is not None  # noqa: S101  see `suits`
            if is_shaped(value) and (self.space.is_full(place) or self.space.is_per_row(place)):
                self.places.setdefault(value, place)

    def fits(self, members: dict[int, Place]) -> bool:
        """Whether a thread can hold its part of the rows in registers."""
        packed = ACCESS_BYTES * 8 // max(self._widest(members), 8)
        while self.space.extents[-1] % packed:
            packed //= 2
        return choose_lanes(self.space.length, packed, self.pressure(members)) is not None

    def _widest(self, members: dict[int, Place]) -> int:
        """The bits of the widest elements that the operations read or write by columns."""
        return max(
            element_bits(value)
            for position, loops in members.items()
            for value, place in self._operands(position, loops)
            if self._has_columns(place)
        )

    def _operands(self, position: int, loops: Place) -> list[tuple[Value, Place]]:
        """The operands and the result of a member, with their places."""
        nest = self.view.nests[self.view.ops[position]]
        operands = [*list(nest.op.operands)[: nest.destination], nest.result]
        places = [place_of_operand(nest, number, loops) for number in range(len(operands))]
        return [
            (value, place)
            for value, place in zip(operands, places, strict=True)
            if place is not None
        ]

    def _has_columns(self, place: Place) -> bool:
        return any(dim in self.space.column_dims for dim in place)

    def pressure(self, members: dict[int, Place]) -> float:
        """Registers of a thread per element of a row."""
        return pressure_of(
            [
                [
                    (value, registers_of(value))
                    for value, place in self._operands(position, members[position])
                    if self._has_columns(place)
                ]
                for position in sorted(members)
            ]
        )

    @property
    def saves_traffic(self) -> bool:
        """Whether several operations access whole rows."""
        return sum(self.space.is_full(loops) for loops in self.members.values()) > 1

    def fills(self) -> dict[int, Operation]:
        """The operation that fills the destination of each reduction."""
        found = {}
        for position in self.members:
            nest = self.view.nests[self.view.ops[position]]
            fill = self._fill(nest) if nest.reductions else None
            if fill is not None:
                found[position] = fill
        return found


def grown(
    view: FunctionView, dependences: Dependences, seed: Structured, taken: set[int]
) -> RowGroup | None:
    """The group that grows from a reduction; None if it is not worth a separate kernel."""
    reduction = reduction_of(seed) if is_row_reduction(seed) else None
    found = None if reduction is None else space_of(reduction)
    if found is None:
        return None
    space, loops = found
    group = RowGroup(view, dependences, space, seed.device)
    position = view.positions[seed.op]
    if not group.takes(seed, loops) or not group.fits({position: loops}):
        return None
    if not group.start(position, seed, loops):
        return None
    group.grow(taken)
    return group if group.saves_traffic else None
