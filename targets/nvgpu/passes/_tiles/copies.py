# SPDX-License-Identifier: Apache-2.0
"""Lowers `tile.copy_async` for a thread: cp.async of 4 to 16 bytes, or loads and stores."""

from __future__ import annotations

import math

from xtc.ir.builders import control
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import Value, VectorType
from xtc_targets.nvgpu.passes._thread_code import all_of, zeros
from xtc_targets.nvgpu.passes._tiles.global_memory import GlobalTile
from xtc_targets.nvgpu.passes._tiles.shared_memory import (
    SharedView,
    first_replica,
    groups_of,
    load_vector,
    store_vector,
    thread_base,
)
from xtc_targets.nvgpu.passes._tiles.warp_instructions import NARROWEST_ASYNC, begin_copy


def copy(tile: GlobalTile, view: SharedView, thread: Value, packed: int, in_bounds: bool) -> None:
    """Begin to copy a tile; elements outside the tensor become 0."""
    layout, nbytes = tile.layout, view.nbytes
    last = len(view.shape) - 1
    width = math.gcd(packed, view.widest(last) if view.contiguous == last else 1)
    index: list[Number] = thread_base(layout, thread)
    with control.branch(all_of(first_replica(layout, thread))):
        for group in groups_of(layout, last, width):
            behind = layout.local_offsets[group[0]]
            belongs = tile.bounds.inside(behind)
            if belongs is False:
                continue
            inside = True if in_bounds else tile.inside(behind)
            to, source = view.address(index, behind), tile.address(behind)
            with control.branch(belongs):
                if len(group) * nbytes < NARROWEST_ASYNC:
                    _copy_now(view, to, source, inside, len(group))
                else:
                    begin_copy(to, source, len(group) * nbytes, inside)


def _copy_now(view: SharedView, to: Value, source: Value, inside: Value | bool, count: int) -> None:
    if inside is not True:
        store_vector(zeros(VectorType.get([count], view.element)), to)
    with control.branch(inside):
        store_vector(load_vector(source, view.element, count), to)
