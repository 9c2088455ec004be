# SPDX-License-Identifier: Apache-2.0
"""Bulk stores of the last tile of a block, through shared memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from xtc.ir.builders import control, tile
from xtc.ir.builders.tile import dims_of
from xtc.ir.mlir import (
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    RankedTensorType,
    Value,
    all_operations,
    memref,
)
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._tiles.numbers import Numbers, global_sizes
from xtc_targets.nvgpu.passes._tiles.shared_memory import bytes_of
from xtc_targets.nvgpu.passes.map_tensors import ROW_BYTES

_SHARED = 2  # memory space
_ROWS = (16, 32, 64)
_AFTER = ("arith.", "math.", "memref.dealloc", "tile.sync")
"""Operations that may follow the store: none of them observes its completion."""


def bulk_store(
    after: Sequence[Operation], known: Collection[Value], numbers: Numbers
) -> Operation | None:
    """The store that can be a bulk copy; None if its tensor or a later operation forbids it."""
    stores = [op for op in after if op.name == "tile.store_global"]
    if len(stores) != 1 or stores[0].operands[1] not in known:
        return None
    (store,) = stores
    behind = after[after.index(store) + 1 :]
    if not all(inner.name.startswith(_AFTER) for op in behind for inner in all_operations(op)):
        return None
    value, memory = RankedTensorType(store.operands[0].type), store.operands[1]
    nbytes, dims = bytes_of(value.element_type), dims_of(store)
    rank = len(MemRefType(memory.type).shape)
    _, strides, offset = global_sizes(memory)
    row = value.shape[-1] * nbytes
    aligned = all(
        numbers.divisor(number) * nbytes % ACCESS_BYTES == 0 for number in (*strides[:-1], offset)
    )
    is_dense = strides[-1] == 1 and dims == sorted(dims) and dims[-1] == rank - 1 and rank <= 5
    is_row = row % ROW_BYTES == 0 or row in _ROWS
    return store if aligned and is_dense and is_row and value.element_type.width >= 8 else None


def stored_bytes(store: Operation) -> int:
    """Size of the staging buffer of a bulk store, in bytes."""
    type = RankedTensorType(store.operands[0].type)
    return int(math.prod(type.shape)) * bytes_of(type.element_type)


def staging_of(store: Operation) -> Value:
    """The staging buffer of a bulk store, in shared memory."""
    type = RankedTensorType(store.operands[0].type)
    space = IntegerAttr.get(IntegerType.get_signless(64), _SHARED)
    return memref.alloc(MemRefType.get(type.shape, type.element_type, None, space), [], [])


def write_store(store: Operation, staging: Value, mapped: Mapping[Value, Value]) -> None:
    """Begin the store of a tile, after the previous store has read the staging buffer."""
    value, memory, *offsets = (mapped.get(operand, operand) for operand in store.operands)
    with store.location:
        with control.branch(tile.in_group(0, 1)):
            tile.tma_wait(0, read=True)
        tile.sync()
        tile.store_shared(value, staging)
        tile.fence_proxy("shared")
        tile.sync()
        with control.branch(tile.in_group(0, 1)):
            tile.tma_store(staging, memory, offsets, dims_of(store))
            tile.tma_commit()


def end_stores(store: Operation) -> None:
    """Wait until all stores are complete."""
    with store.location, control.branch(tile.in_group(0, 1)):
        tile.tma_wait(0, read=False)
