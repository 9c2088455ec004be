# SPDX-License-Identifier: Apache-2.0
"""Lowers `tile.copy_async` for a thread: cp.async of 4 to 16 bytes, or loads and stores."""

from __future__ import annotations

import math

from xtc.ir.builders import control
from xtc.ir.builders.numbers import Number
from xtc.ir.mlir import Value, VectorType, arith
from xtc_targets.nvgpu.passes._thread_code import all_of, as_i32, zeros
from xtc_targets.nvgpu.passes._tiles.global_memory import GlobalTile
from xtc_targets.nvgpu.passes._tiles.shared_memory import (
    SharedView,
    bytes_of,
    first_replica,
    groups_of,
    load_vector,
    store_vector,
    thread_base,
)
from xtc_targets.nvgpu.passes._tiles.warp_instructions import NARROWEST_ASYNC, begin_copy


def copy(tile: GlobalTile, view: SharedView, thread: Value, in_bounds: bool) -> None:
    """Begin to copy a tile; elements outside the tensor become 0."""
    layout, nbytes = tile.layout, view.nbytes
    last = len(view.shape) - 1
    width = math.gcd(tile.packed, view.widest(last) if view.contiguous == last else 1)
    index: list[Number] = thread_base(layout, thread)
    groups = groups_of(layout, last, width)
    if len(groups[0]) * nbytes < NARROWEST_ASYNC and tile.ends:
        groups = groups_of(layout, last, 1)
    with control.branch(all_of(first_replica(layout, thread))):
        for group in groups:
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
                    kept = None if in_bounds else _kept_bytes(tile, behind[last], len(group))
                    begin_copy(to, source, len(group) * nbytes, inside, kept)


def _kept_bytes(tile: GlobalTile, steps: int, count: int) -> Value | None:
    """Bytes before the end of a row, of a vector that begins before it; None: all."""
    if tile.ends is None or count == 1:
        return None
    kept = arith.minui(tile.ends.kept(steps), as_i32(count))
    return arith.muli(kept, as_i32(bytes_of(tile.view.element)))


def _copy_now(view: SharedView, to: Value, source: Value, inside: Value | bool, count: int) -> None:
    if inside is not True:
        store_vector(zeros(VectorType.get([count], view.element)), to)
    with control.branch(inside):
        store_vector(load_vector(source, view.element, count), to)
