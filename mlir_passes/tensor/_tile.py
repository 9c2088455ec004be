# SPDX-License-Identifier: Apache-2.0
"""Computes a group of operations tile by tile, in loops over the last operation's result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xtc.ir.analysis.function_view import FunctionView
from xtc.ir.analysis.structured import Structured, shape_of
from xtc.ir.builders.affine import digits
from xtc.ir.builders.control import forall, new_loop
from xtc.ir.builders.numbers import linear_offset
from xtc.ir.builders.slices import Offset, empty, extract_slice, insert_slice, tensor_type
from xtc.ir.mlir import InsertionPoint, Operation, UnitAttr, Value, scf


@dataclass(frozen=True)
class Member:
    """An operation in the tile loops; `loops[d]` is its loop for tiled dimension d."""

    nest: Structured
    loops: tuple[int, ...]


@dataclass(frozen=True)
class Tile:
    """One tile: first row and number of rows in each tiled dimension."""

    offsets: tuple[Offset, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class TileGroup:
    """A group of operations that is computed tile by tile.

    Attributes:
        view: the function before the rewriting.
        members: the operations, in order. Only later members read the result of a member; the last
            member, the root, has other readers.
        sizes: the size of a tile in each tiled dimension. Only the last dimension may have a
            remainder, which gets separate code.
        paths: attributes for the loop over each tiled dimension.
        parallel: whether threads share the iterations.
    """

    view: FunctionView
    members: tuple[Member, ...]
    sizes: tuple[int, ...]
    paths: tuple[str, ...] = ()
    parallel: bool = False

    @property
    def root(self) -> Structured:
        """The operation whose result leaves the loops."""
        return self.members[-1].nest

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The extent of each tiled dimension."""
        return tuple(self.root.extents[loop] for loop in self.members[-1].loops)

    @cached_property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions of the root's result that are tiled."""
        return tuple(self.root.out.index(loop) for loop in self.members[-1].loops)

    @cached_property
    def _placed(self) -> list[Operation]:
        """The operations that work on tiles so far."""
        return []

    @cached_property
    def first_writer(self) -> Structured:
        """The member that starts from the root's initial value: the root, or its accumulation."""
        producers = {member.nest.result: member.nest for member in self.members}
        writer = self.root
        while (before := producers.get(writer.op.operands[writer.destination])) is not None:
            writer = before
        return writer

    def rewrite(self) -> list[Operation]:
        """Move the members into loops that replace the root; returns them and their copies."""
        destination = self.first_writer.op.operands[self.first_writer.destination]
        ip = InsertionPoint(self.root.op)
        with self.root.op.location:
            if self.parallel:
                self._share(destination, ip)
            else:
                self._loop((), destination, ip)
        return self._placed

    def _loop(self, offsets: tuple[Offset, ...], destination: Value, ip: InsertionPoint) -> Value:
        """The loop over the next tiled dimension, with its body."""
        depth = len(offsets)
        extent, size = self.extents[depth], self.sizes[depth]
        loop = new_loop(0, extent - extent % size, size, [destination], ip)
        _name(loop.op, self.paths[depth : depth + 1])
        body = loop.op.regions[0].blocks[0]
        counter, (inside,), (result,) = loop.index, loop.carried, loop.results
        if extent % size:
            rest = Tile((*offsets, extent - extent % size), (*self.sizes[:-1], extent % size))
            result = self._copy(rest, result, ip)
        if depth == 0:
            self.root.result.replace_all_uses_with(result)
        end = InsertionPoint(body)
        if depth + 1 == len(self.sizes):
            emission = _Emission(self, Tile((*offsets, counter), self.sizes), inside, {})
            self._move(emission, body.append)
            value = emission.written(end)
        else:
            value = self._loop((*offsets, counter), inside, end)
        scf.yield_([value], ip=end)
        return result

    def _share(self, destination: Value, ip: InsertionPoint) -> None:
        """One parallel loop over the tiles, with its body; the remainder follows it."""
        counts = [extent // size for extent, size in zip(self.extents, self.sizes, strict=True)]
        loop = forall(math.prod(counts), None, [destination], ip)
        _name(loop.op, self.paths)
        result = loop.op.results[0]
        if rest := self.extents[-1] % self.sizes[-1]:
            offsets = (*(0 for _ in counts[1:]), self.extents[-1] - rest)
            result = self._copy(Tile(offsets, (*self.extents[:-1], rest)), result, ip)
        self.root.result.replace_all_uses_with(result)
        indices_of = digits(loop.number, counts, loop.ip)
        offsets = tuple(
            linear_offset([(digit, size)], loop.ip)
            for digit, size in zip(indices_of, self.sizes, strict=True)
        )
        (shared,) = loop.shared
        emission = _Emission(self, Tile(offsets, self.sizes), shared, {})
        end = loop.ip.ref_operation
        self._move(emission, lambda op: op.move_before(end))
        loop.write(emission.value, shared, emission.offsets)

    def _copy(self, tile: Tile, destination: Value, ip: InsertionPoint) -> Value:
        """Compute a tile with copies of the members."""
        emission = _Emission(self, tile, destination, {})
        for member in self.members:
            self._placed.append(member.nest.op.clone(ip=ip))
            emission.add(member, self._placed[-1])
        return emission.written(ip)

    def _move(self, emission: _Emission, put: Callable[[Operation], None]) -> None:
        """Compute a tile with the members themselves; `put` places each operation."""
        for member in self.members:
            put(member.nest.op)
            self._placed.append(member.nest.op)
            emission.add(member, member.nest.op)


@dataclass(frozen=True)
class _Emission:
    """The members' operations on one tile; `values` maps whole results to tiles."""

    group: TileGroup
    tile: Tile
    destination: Value
    values: dict[Value, Value]

    def add(self, member: Member, op: Operation) -> None:
        """Let `op`, a member or its copy, work on the tile."""
        ip = InsertionPoint(op)
        for number, operand in enumerate(list(op.operands)):
            op.operands[number] = self._operand(member, number, operand, ip)
        sizes = self._sizes(member, member.nest.destination, shape_of(member.nest.result))
        whole = member.nest.result
        op.results[0].set_type(tensor_type(sizes, whole))
        self.values[whole] = op.results[0]

    @property
    def value(self) -> Value:
        """The root's tile."""
        return self.values[self.group.root.result]

    @property
    def offsets(self) -> list[Offset]:
        """The offsets of the tile in the root's result."""
        starts = dict(zip(self.group.dimensions, self.tile.offsets, strict=True))
        return [starts.get(dimension, 0) for dimension in range(len(shape_of(self.value)))]

    def written(self, ip: InsertionPoint) -> Value:
        """The destination with the root's tile inserted."""
        return insert_slice(self.value, self.destination, self.offsets, ip)

    def _operand(self, member: Member, number: int, value: Value, ip: InsertionPoint) -> Value:
        nest = member.nest
        if value in self.values or not nest.indices[number]:
            return self.values.get(value, value)
        sizes = self._sizes(member, number, shape_of(value))
        if number == nest.destination:
            if nest is self.group.first_writer:
                value = self.destination
            elif self.group.view.is_produced_by(value, "tensor.empty"):
                return empty(sizes, value, ip)
        return extract_slice(value, self._offsets(member, number, ip), sizes, ip)

    def _offsets(self, member: Member, number: int, ip: InsertionPoint) -> list[Offset]:
        """The offsets of the part of an operand that the tile needs."""
        return [
            linear_offset(
                [
                    (offset, index.factor(loop))
                    for loop, offset in zip(member.loops, self.tile.offsets, strict=True)
                ],
                ip,
            )
            for index in member.nest.indices[number]
        ]

    def _sizes(self, member: Member, number: int, whole: Sequence[int]) -> list[int]:
        """The sizes of the part of an operand that the tile needs."""
        extents = list(member.nest.extents)
        for loop, size in zip(member.loops, self.tile.sizes, strict=True):
            extents[loop] = size
        return [
            index.reach(extents) if any(index.factor(loop) for loop in member.loops) else size
            for index, size in zip(member.nest.indices[number], whole, strict=True)
        ]


def _name(loop: Operation, paths: Sequence[str]) -> None:
    for path in paths:
        loop.attributes[path] = UnitAttr.get()
