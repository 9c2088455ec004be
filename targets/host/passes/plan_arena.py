# SPDX-License-Identifier: Apache-2.0
"""plan-arena: places the buffers of a network in one allocation by their lifetimes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import ARENA, NODE
from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import (
    DenseI64ArrayAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    Value,
    memref,
)
from xtc.ir.passes import Pass
from xtc_passes.local._functions import ancestor_in, users
from xtc_passes.local._placement import Extent, footprint, lower_bound, place
from xtc_passes.local._view_layouts import nbytes

_LINE = 64  # bytes of a cache line, to which each buffer is aligned


@dataclass(frozen=True)
class PlanArena(Pass):
    """Place the buffers of a function that calls kernels at offsets of one buffer, the arena.

    Before:
        %a = memref.alloc() : memref<64xf32>
        %b = memref.alloc() : memref<64xf32>
        call @net.kernel.c(%x, %a) {xtc.node = "c"}; call @net.kernel.d(%a, %b) {xtc.node = "d"}
    After:
        %arena = memref.alloc() {xtc.arena = array<i64: 512, 512>} : memref<512xi8>
        %a = memref.view %arena[%c0][]; %b = memref.view %arena[%c256][]

    A buffer lives from the first to the last operation of the function that uses it. The attribute
    has the size of the arena, and the lower bound of any plan: the most bytes that are live at the
    same time. Buffers that a loop carries stay as they are.
    """

    name: ClassVar[str] = "plan-arena"

    def run(self, module: Operation) -> None:
        for function in [op.operation for op in module.regions[0].blocks[0].operations]:
            if function.name == "func.func" and _calls_kernels(function):
                with module.context, function.location:
                    _plan(function)


def _calls_kernels(function: Operation) -> bool:
    return len(function.regions[0].blocks) == 1 and any(
        op.operation.name == "func.call" and NODE in op.operation.attributes
        for op in function.regions[0].blocks[0].operations
    )


@dataclass(frozen=True)
class Buffer:
    """An allocation and its lifetime."""

    alloc: Operation
    extent: Extent


def buffers_of(function: Operation) -> Iterator[Buffer]:
    """The top-level allocations of a function whose uses are all known."""
    ops = [op.operation for op in function.regions[0].blocks[0].operations]
    order = {op: number for number, op in enumerate(ops)}
    for alloc in ops:
        if alloc.name != "memref.alloc" or len(alloc.operands):
            continue
        used = list(users(alloc.results[0]))
        if any(_escapes(op) for op in used):
            continue
        times = [order[around] for op in used if (around := ancestor_in(op, function)) is not None]
        size = -(-nbytes(MemRefType(alloc.results[0].type)) // _LINE) * _LINE
        yield Buffer(alloc, Extent(min(times, default=0), max(times, default=0), size))


def _escapes(op: Operation) -> bool:
    """Whether the buffer escapes through an operation."""
    return op.name.startswith(("scf.yield", "cf.", "func.return")) or any(
        isinstance(result.type, MemRefType) for result in op.results
    )


def _plan(function: Operation) -> None:
    buffers = list(buffers_of(function))
    if not buffers:
        return
    extents = [buffer.extent for buffer in buffers]
    offsets = place(extents)
    size = footprint(extents, offsets)
    with InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
        arena = arena_of(size, lower_bound(extents))
        constants = {offset: index_constant(offset) for offset in sorted(set(offsets))}
    replace(buffers, [constants[offset] for offset in offsets], arena)


def arena_of(size: int, least: int) -> Value:
    """Allocate an arena of `size` bytes; `least` is the lower bound of any plan."""
    type = MemRefType.get([size], IntegerType.get_signless(8))
    alignment = IntegerAttr.get(IntegerType.get_signless(64), _LINE)
    arena = memref.alloc(type, [], [], alignment=alignment)
    arena.owner.attributes[ARENA] = DenseI64ArrayAttr.get([size, least])
    return arena


def replace(buffers: Sequence[Buffer], offsets: Sequence[Value], arena: Value) -> None:
    """Replace buffers by views of the arena at these offsets."""
    for buffer, offset in zip(buffers, offsets, strict=True):
        result = buffer.alloc.results[0]
        with InsertionPoint(buffer.alloc):
            view = memref.view(result.type, arena, offset, [])
        result.replace_all_uses_with(view)
        buffer.alloc.erase()
