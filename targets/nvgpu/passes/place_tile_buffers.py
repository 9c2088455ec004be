# SPDX-License-Identifier: Apache-2.0
"""place-tile-buffers: assigns the buffers of a tile kernel offsets in shared memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.ir.attributes import LOCAL_BYTES, WARPS
from xtc.ir.builders.tile import group_entered, location_text
from xtc.ir.mlir import (
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    RankedTensorType,
    UnitAttr,
    Value,
    all_operations,
)
from xtc.ir.partition import top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._kernels import SHARED_BYTES
from xtc_targets.nvgpu.passes._tiles.exchange import (
    crosses_warps,
    same_threads,
    scratch_shape,
    type_of_sums,
)
from xtc_targets.nvgpu.passes._tiles.scatter import hands_back
from xtc_targets.nvgpu.passes._tiles.shared_memory import bytes_of
from xtc_targets.nvgpu.passes.map_tensors import MULTICAST, root_of

OFFSET = "nvgpu.offset"
"""Integer on an allocation, a conversion or a reduction: the offset of its memory in bytes."""

MIXED = "nvgpu.mixed"
"""Unit attribute on an allocation that bulk loads fill, and whose memory threads access as well."""

ALIGNMENT = 1024  # the period of swizzled addresses
_SHARED = 2  # memory space
_NOT_BY_THREADS = (
    *("memref.", "tile.tma_", "tile.wgmma", "tile.mbarrier_", "tile.cluster_", "tile.tensor_map"),
)
"""Operations that do not access shared tensors by loads and stores of threads."""


@dataclass
class _Buffer:
    """A buffer that is live while the operations numbered `first` to `last` run."""

    op: Operation
    nbytes: int
    first: int
    last: int
    group: tuple[int, int] | None
    offset: int = 0

    def meets(self, other: _Buffer) -> bool:
        """Whether both may be live at the same time; thread groups run concurrently."""
        if self.group != other.group:
            return True
        return other.first <= self.last and self.first <= other.last

    def overlaps(self, other: _Buffer) -> bool:
        """Whether both have memory in common."""
        return (
            self.offset < other.offset + other.nbytes and other.offset < self.offset + self.nbytes
        )


@dataclass(frozen=True)
class PlaceTileBuffers(Pass):
    """Give each shared tensor, and each conversion through shared memory, an offset.

    Before:
        %sa = memref.alloc() : memref<128x32xf16, 2>
    After, with `nvgpu.shared_bytes` and `xtc.local_bytes` on the kernel:
        %sa = memref.alloc() {nvgpu.offset = 0 : i64} : memref<128x32xf16, 2>

    Memory is reused after `memref.dealloc`. An allocation that bulk loads fill and whose memory
    threads access as well is marked with `nvgpu.mixed`. Raises UserError, with a table of the
    buffers that are live at the same time, if they do not fit.

    Attributes:
        block_bytes: maximum shared memory per block.
    """

    name: ClassVar[str] = "place-tile-buffers"
    block_bytes: int = H100.shared_bytes_block

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                if WARPS in kernel.attributes:
                    self._place(kernel)

    def _place(self, kernel: Operation) -> None:
        buffers = _buffers(kernel)
        placed: list[_Buffer] = []
        for buffer in sorted(buffers, key=lambda found: -found.nbytes):
            buffer.offset = _first_fit(buffer, placed)
            placed.append(buffer)
        total = max((buffer.offset + buffer.nbytes for buffer in buffers), default=0)
        if total > self.block_bytes:
            raise _too_much(buffers, total, self.block_bytes)
        i64 = IntegerType.get_signless(64)
        for buffer in buffers:
            buffer.op.attributes[OFFSET] = IntegerAttr.get(i64, buffer.offset)
        for name in (SHARED_BYTES, LOCAL_BYTES):
            kernel.attributes[name] = IntegerAttr.get(i64, total)
        _mark_mixed(kernel, buffers)


def _mark_mixed(kernel: Operation, buffers: list[_Buffer]) -> None:
    ops = all_operations(kernel)
    filled = [root_of(op.operands[1]) for op in ops if op.name in ("tile.tma_load", MULTICAST)]
    touched = [
        root_of(value)
        for op in ops
        if not op.name.startswith(_NOT_BY_THREADS)
        for value in op.operands
        if isinstance(value.type, MemRefType) and _is_shared(MemRefType(value.type))
    ]
    exchanges = [b.op for b in buffers if b.op.name not in ("memref.alloc", "tile.mbarrier_alloc")]
    by_threads = [buffer for buffer in buffers if buffer.op in (*touched, *exchanges)]
    for buffer in buffers:
        if buffer.op in filled and any(map(buffer.overlaps, by_threads)):
            buffer.op.attributes[MIXED] = UnitAttr.get()


def _is_shared(type: MemRefType) -> bool:
    space = type.memory_space
    return space is not None and int(IntegerAttr(space).value) == _SHARED


def _buffers(kernel: Operation) -> list[_Buffer]:
    ops = all_operations(kernel)
    numbers = {op: number for number, op in enumerate(ops)}
    found: list[_Buffer] = []

    def need(op: Operation, nbytes: int, last: int) -> None:
        outermost = [entered for around in _around(op) if (entered := group_entered(around))]
        found.append(_Buffer(op, nbytes, numbers[op], last, outermost[-1] if outermost else None))

    for op in ops:
        at = numbers[op]
        if op.name == "memref.alloc":
            need(op, _bytes_of(op), _last_use(op, numbers))
        elif op.name == "tile.mbarrier_alloc":
            need(op, _bytes_of(op), len(ops))
        elif op.name == "tile.convert_layout":
            if not same_threads(op):
                need(op, _bytes_in(scratch_shape(op), op.operands[0]), at)
        elif op.name == "tile.scan":
            type = RankedTensorType(op.operands[0].type)
            nbytes = bytes_of(type_of_sums(op, type.element_type))
            need(op, math.prod(known_layout(type).shape) * nbytes, at)
        elif op.name == "tile.atomic" and hands_back(op):
            need(op, _bytes_in(known_layout(op.operands[1]).shape, op.operands[1]), at)
        elif op.name == "tile.reduce" and crosses_warps(op):
            need(op, _partial_bytes(op), at)
    return found


def _around(op: Operation) -> list[Operation]:
    """The ancestors of an operation, the innermost first."""
    found = []
    while op.name != "func.func":
        op = op.parent.operation
        found.append(op)
    return found


def _last_use(op: Operation, numbers: dict[Operation, int]) -> int:
    """The deallocation, or the last operation of the region, as a loop repeats it."""
    ends = [use.owner.operation for use in op.results[0].uses if use.owner.name == "memref.dealloc"]
    inside = [numbers[each] for view in op.block for each in all_operations(view.operation)]
    same = [end for end in ends if end.block == op.block]
    return numbers[same[0]] if same else max(inside)


def _first_fit(buffer: _Buffer, placed: list[_Buffer]) -> int:
    live = [p for p in placed if p.meets(buffer)]
    offset = 0
    for other in sorted(live, key=lambda found: found.offset):
        if offset + buffer.nbytes <= other.offset:
            break
        end = other.offset + other.nbytes
        offset = max(offset, -(-end // ALIGNMENT) * ALIGNMENT)
    return offset


def _bytes_of(op: Operation) -> int:
    type = MemRefType(op.results[0].type)
    strides, _ = type.get_strides_and_offset()
    return int(type.shape[0] * strides[0]) * bytes_of(type.element_type)


def _bytes_in(shape: Sequence[int], tile: Value) -> int:
    """The bytes of memory of a shape for the elements of a tile."""
    return math.prod(shape) * bytes_of(RankedTensorType(tile.type).element_type)


def _partial_bytes(op: Operation) -> int:
    layout, reduced = known_layout(op.operands[0]), known_layout(op.results[0])
    type = RankedTensorType(op.operands[0].type)
    element = type_of_sums(op, type.element_type)
    return layout.spatial_size * reduced.local_size * bytes_of(element)


def _too_much(buffers: list[_Buffer], total: int, limit: int) -> UserError:
    peak = max(buffers, key=lambda buffer: buffer.offset + buffer.nbytes)
    live = [b for b in buffers if b.meets(peak)]
    notes = [
        f"{buffer.nbytes:>8} bytes at {location_text(buffer.op.location)}: {_named(buffer.op)}"
        for buffer in sorted(live, key=lambda found: -found.nbytes)
    ]
    return UserError(
        f"the kernel needs {total} bytes of shared memory, and a block has {limit}",
        where=location_text(peak.op.location),
        notes=notes,
        hints=["choose smaller tiles or fewer slots, or free tensors earlier"],
    )


def _named(op: Operation) -> str:
    type = op.results[0].type
    if op.name == "tile.mbarrier_alloc":
        return "mbarriers"
    if isinstance(type, MemRefType):
        sizes = "x".join(map(str, type.shape))
        return f"shared tensor {sizes} of {type.element_type}"
    return "a tile exchanged between threads"
