# SPDX-License-Identifier: Apache-2.0
"""A thread's part of `tile.copy_async`: cp.async of 4 to 16 bytes, or loads and stores."""

from __future__ import annotations

import math

from xtc.ir.builders import control
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import Value, VectorType, arith
from xtc.ir.mlir_nvvm import nvvm
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes._thread_code import all_of, as_i32
from xtc_targets.nvgpu.passes._tile_memory import (
    GlobalTile,
    SharedView,
    first_replica,
    groups_of,
    load_vector,
    store_vector,
    thread_base,
    zeros,
)

_NARROWEST = 4  # bytes that cp.async copies


def copy(tile: GlobalTile, view: SharedView, thread: Value, packed: int, in_bounds: bool) -> None:
    """Begin to copy a tile; elements outside of the tensor become 0."""
    layout, nbytes = tile.layout, view.nbytes
    last = len(view.shape) - 1
    width = math.gcd(packed, view.widest(last) if view.contiguous == last else 1)
    index: list[Number] = thread_base(layout, thread)
    with control.branch(all_of(first_replica(layout, thread))):
        for group in groups_of(layout, last, width):
            behind = layout.local_offsets[group[0]]
            inside = True if in_bounds else tile.inside(behind)
            to, source = view.address(index, behind), tile.address(behind)
            if len(group) * nbytes < _NARROWEST:
                _copy_now(view, to, source, inside, len(group))
                continue
            _begin(to, source, len(group) * nbytes, inside)


def _begin(to: Value, source: Value, width: int, inside: Value | bool) -> None:
    kinds = nvvm.LoadCacheModifierKind
    modifier = kinds.CG if width == ACCESS_BYTES else kinds.CA  # CA: through the first-level cache
    size = None if inside is True else arith.select(inside, as_i32(width), as_i32(0))
    nvvm.cp_async_shared_global(to, source, width, modifier, cp_size=size)


def _copy_now(view: SharedView, to: Value, source: Value, inside: Value | bool, count: int) -> None:
    if inside is not True:
        store_vector(zeros(VectorType.get([count], view.element)), to)
    with control.branch(inside):
        store_vector(load_vector(source, view.element, count), to)
