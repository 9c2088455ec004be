# SPDX-License-Identifier: Apache-2.0
"""Division of register layouts: finds the factors of a product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xtc.core.errors import LayoutOperationError

if TYPE_CHECKING:
    from xtc.core.tile_layout import RegisterLayout


def divided(lhs: RegisterLayout, rhs: RegisterLayout) -> RegisterLayout:
    """The layout whose product with `rhs` is `lhs`. Raises LayoutOperationError."""
    rank = max(len(lhs.shape), len(rhs.shape))
    whole, part = lhs.of_rank(rank), rhs.of_rank(rank)
    found = _halves(whole, part.shape, part.spatial_size)
    if found is None or found[1].merged() != part.merged():
        raise LayoutOperationError(f"{lhs} is not a product of a layout and {rhs}")
    return found[0].merged()


def left_divided(layout: RegisterLayout, lhs_divisor: RegisterLayout) -> RegisterLayout:
    """The layout x with `lhs_divisor * x` equal to `layout`.

    Raises LayoutOperationError if there is none.
    """
    rank = max(len(layout.shape), len(lhs_divisor.shape))
    whole, part = layout.of_rank(rank), lhs_divisor.of_rank(rank)
    sizes = tuple(a // b for a, b in zip(whole.shape, part.shape, strict=True))
    found = _halves(whole, sizes, whole.spatial_size // part.spatial_size)
    if found is None or found[0].merged() != part.merged():
        raise LayoutOperationError(f"{layout} is not a product of {lhs_divisor} and a layout")
    return found[1].merged()


def _halves(
    layout: RegisterLayout, shape: Sequence[int], threads: int
) -> tuple[RegisterLayout, RegisterLayout] | None:
    """A layout as two factors, the inner one with this shape and number of threads; or None."""
    if any(size < 1 or whole % size for whole, size in zip(layout.shape, shape, strict=True)):
        return None
    both = [n for a, b in zip(layout.shape, shape, strict=True) for n in (a // b, b)]
    split = layout.with_shape(both)
    if split is None:
        return None
    cut = len(split.spatial_modes)
    inside = 1
    while cut and inside < threads:
        cut -= 1
        inside *= split.spatial_shape[cut]
    ahead, behind = list(split.spatial_modes[:cut]), list(split.spatial_modes[cut:])
    if inside > threads and behind[0] < 0 and inside % threads == 0:  # adjacent replications
        ahead.append(-(inside // threads))
        behind[0] //= inside // threads
    outer = _of_dimensions(split, 0, ahead)
    inner = _of_dimensions(split, 1, behind)
    if outer is None or inner is None or (outer * inner).merged() != layout.merged():
        return None
    return outer, inner


def _of_dimensions(
    layout: RegisterLayout, first: int, spatial_modes: Sequence[int]
) -> RegisterLayout | None:
    """The layout of every second dimension from `first`; None if threads index the others."""
    modes = [mode for group in layout.groups[first::2] for mode in group]
    rank_of = {mode: number for number, mode in enumerate(modes)}
    local_modes = tuple(rank_of[mode] for mode in layout.local_modes if mode in rank_of)
    if sum(mode >= 0 for mode in spatial_modes) + len(local_modes) != len(modes):
        return None
    if any(mode >= 0 and mode not in rank_of for mode in spatial_modes):
        return None
    return replace(
        layout,
        shape=layout.shape[first::2],
        modes=tuple(layout.modes[mode] for mode in modes),
        spatial_modes=tuple(mode if mode < 0 else rank_of[mode] for mode in spatial_modes),
        local_modes=local_modes,
    )
