# SPDX-License-Identifier: Apache-2.0
"""Bulk copies of shared tensors: one per panel and per 256 rows, issued by a thread."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

from xtc.ir.builders.numbers import Number, add
from xtc.ir.builders.tile import dims_of
from xtc.ir.mlir import Attribute, IntegerType, Operation, Type, Value, arith
from xtc.ir.mlir_llvm import llvm
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tiles.shared_memory import SharedView
from xtc_targets.nvgpu.passes.map_tensors import box_of

_MAP_BYTES = 128


def acquire(argument: Value) -> None:
    """Make a tensor map in global memory, which the host has written, visible to bulk copies."""
    scope = Attribute.parse("#nvvm.mem_scope<sys>")
    nvvm.fence_proxy_acquire(scope, _generic(argument), as_i32(_MAP_BYTES))


def load(
    op: Operation,
    view: SharedView,
    map: Value,
    barrier: Value,
    offsets: Sequence[Value],
    mask: Value | None = None,
) -> None:
    """Begin to load a shared tensor, in this block or in the blocks of a mask."""
    cluster = Type.parse("!llvm.ptr<7>")
    ranks = None if mask is None else arith.trunci(IntegerType.get_signless(16), mask)

    def begin(address: Value, coordinates: Sequence[Value]) -> None:
        to = llvm.addrspacecast(cluster, address)
        nvvm.cp_async_bulk_tensor_shared_cluster_global(
            to, _generic(map), coordinates, barrier, [], multicast_mask=ranks
        )

    _each(op, 1, view, offsets, begin)


def store(op: Operation, view: SharedView, map: Value, offsets: Sequence[Value]) -> None:
    """Begin to store a shared tensor."""

    def begin(address: Value, coordinates: Sequence[Value]) -> None:
        nvvm.cp_async_bulk_tensor_global_shared_cta(_generic(map), address, coordinates)

    _each(op, 0, view, offsets, begin)


def _each(
    op: Operation,
    operand: int,
    view: SharedView,
    offsets: Sequence[Value],
    begin: Callable[[Value, Sequence[Value]], None],
) -> None:
    box, dims = box_of(op.operands[operand]), dims_of(op)
    steps = [range(0, size, step) for size, step in zip(view.shape, box, strict=True)]
    for first in itertools.product(*steps):
        coordinates: list[Number] = list(offsets)
        for dim, number in zip(dims, first, strict=True):
            coordinates[dim] = add(coordinates[dim], number)
        plain = replace(view, part=add(view.begin, view.offset(first)), slot=0, _kept={})
        begin(plain.first_address(), [as_i32(number) for number in reversed(coordinates)])


def _generic(pointer: Value) -> Value:
    plain = Type.parse("!llvm.ptr")
    return pointer if pointer.type == plain else llvm.addrspacecast(plain, pointer)
