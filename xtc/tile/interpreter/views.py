# SPDX-License-Identifier: Apache-2.0
"""Tensors in memory, and views of them, in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.analysis.views import dropped_dimensions
from xtc.ir.builders.tile import group_of
from xtc.ir.mlir import (
    DenseI32ArrayAttr,
    DenseI64ArrayAttr,
    MemRefType,
    Operation,
    ShapedType,
    Value,
)
from xtc.tile.interpreter.block_part import BlockPart
from xtc.tile.interpreter.events import Event
from xtc.tile.interpreter.memory import GlobalMemory
from xtc.tile.interpreter.shared import Checker, SharedMemory
from xtc.tile.interpreter.values import numpy_type

_UNKNOWN = ShapedType.get_dynamic_size()
_AT_THE_END = (
    "insert self.sync() at the end of the loop or branch that allocates the tensor, "
    "or allocate it before: "
    "its memory is reused after the loop or branch"
)


class Views(BlockPart):
    """A part of the interpreter of a block."""

    checker: Checker
    values: dict[Value, Any]
    freed: list[tuple[Event, str]]
    allocated: dict[Operation, Any]
    alive: dict[Operation, SharedMemory]

    def reinterpret(self, op: Operation) -> None:
        source = self.get(op, 0)
        type = MemRefType(op.results[0].type)
        if isinstance(source, SharedMemory):
            self.set(op, source.view(lambda array: array.reshape(tuple(type.shape))))
            return
        strides, offset = type.get_strides_and_offset()
        segments = list(DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        dynamic = [int(self.values[value]) for value in list(op.operands)[segments[0] :]]
        offsets = dynamic[: segments[1]]
        sizes = iter(dynamic[segments[1] : segments[1] + segments[2]])
        steps = iter(dynamic[segments[1] + segments[2] :])
        self.set(
            op,
            GlobalMemory(
                source,
                numpy_type(type.element_type),
                offsets[0] if offsets else offset,
                [next(sizes) if size == _UNKNOWN else size for size in type.shape],
                [next(steps) if stride == _UNKNOWN else stride for stride in strides],
            ),
        )

    def retyped(self, op: Operation) -> None:
        self.set(op, self.get(op, 0))

    def alloc(self, op: Operation) -> None:
        type = MemRefType(op.results[0].type)
        for other in [other for other in self.alive if _is_over(other, op)]:
            self.freed += self.checker.free(self.alive.pop(other), self.number(other), _AT_THE_END)
        shape, dtype = tuple(type.shape), numpy_type(type.element_type)
        memory = self.checker.allocate(shape, dtype, self.freed)
        self.allocated[op] = self.alive[op] = memory
        self.set(op, memory)

    def dealloc(self, op: Operation) -> None:
        self.alive.pop(op.operands[0].owner.operation, None)
        hint = "insert self.sync() before free_shared"
        self.freed += self.checker.free(self.get(op, 0), self.number(op), hint)

    def part(self, op: Operation) -> None:
        memory: SharedMemory = self.get(op, 0)
        given = iter(int(self.values[value]) for value in list(op.operands)[1:])
        static = DenseI64ArrayAttr(op.attributes["static_offsets"])
        begins = [next(given) if number == _UNKNOWN else number for number in static]
        sizes = list(DenseI64ArrayAttr(op.attributes["static_sizes"]))
        shape = tuple(MemRefType(op.results[0].type).shape)
        for dim, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
            if not 0 <= begin <= memory.shape[dim] - size:
                raise UserError(
                    f"index {begin} is outside of dimension {dim} of a shared tensor of shape "
                    f"{list(memory.shape)}",
                    hints=["make the tensor larger, or take the index modulo its size: s[i % n]"],
                )
        dropped = dropped_dimensions(sizes, shape)
        index = tuple(
            begin if dim in dropped else slice(begin, begin + size)
            for dim, (begin, size) in enumerate(zip(begins, sizes, strict=True))
        )
        self.set(op, memory.view(lambda array: array[index]))

    def permuted(self, op: Operation) -> None:
        memory: SharedMemory = self.get(op, 0)
        source = MemRefType(op.operands[0].type).get_strides_and_offset()[0]
        result = MemRefType(op.results[0].type).get_strides_and_offset()[0]
        order = _order(source, result, memory.shape, MemRefType(op.results[0].type).shape)
        self.set(op, memory.view(lambda array: array.transpose(order)))


def _order(
    source: Sequence[int], result: Sequence[int], before: Sequence[int], after: Sequence[int]
) -> list[int]:
    """The source dimension of each dimension of a permuted view."""
    left = list(zip(source, before, range(len(source)), strict=True))
    order = []
    for stride, size in zip(result, after, strict=True):
        found = next(entry for entry in left if entry[:2] == (stride, size))
        left.remove(found)
        order.append(found[2])
    return order


def _is_over(tensor: Operation, now: Operation) -> bool:
    """Whether the loop or branch that allocated a shared tensor has ended, or begins again, so that
    the same threads allocate a new one."""
    if tensor == now:
        return True
    if group_of(tensor) != group_of(now):
        return False
    around = now
    while around.block != tensor.block:
        if around.name == "func.func":
            return True
        around = around.parent.operation
    return False
