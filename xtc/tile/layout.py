# SPDX-License-Identifier: Apache-2.0
"""Register layouts for `annotate_layout`; `xtc/core/tile_layout.py` defines them."""

from collections.abc import Sequence

from xtc.core.errors import UserError
from xtc.core.layout_algebra import (
    auto_local_spatial,
    compose,
    flatten,
    permute,
    reduce_to,
    reshape,
    squeeze,
    unsqueeze,
)
from xtc.core.layout_division import divided as divide
from xtc.core.layout_division import left_divided as left_divide
from xtc.core.tile_layout import (
    RegisterLayout,
    column_local,
    column_spatial,
    concat,
    local,
    reduce,
    replicated,
    spatial,
)

__all__ = [
    "RegisterLayout",
    "auto_local_spatial",
    "canonicalize_layout",
    "column_local",
    "column_spatial",
    "compose",
    "concat",
    "divide",
    "flatten",
    "left_divide",
    "local",
    "permute",
    "reduce",
    "reduce_to",
    "register_layout",
    "replicated",
    "reshape",
    "spatial",
    "squeeze",
    "unsqueeze",
    "visualize_layout",
]


def register_layout(
    shape: Sequence[int],
    mode_shape: Sequence[int],
    spatial_modes: Sequence[int],
    local_modes: Sequence[int],
) -> RegisterLayout:
    """The canonical layout with these modes. Raises UserError unless they make up the shape.

    Args:
        shape: shape of the tile.
        mode_shape: sizes of the modes, grouped by dimension.
        spatial_modes: the modes that number the threads; -n for n threads with the same elements.
        local_modes: the modes that number the elements of a thread.
    """
    if any(not 0 <= mode < len(mode_shape) for mode in (*spatial_modes, *local_modes) if mode >= 0):
        raise UserError(
            f"register_layout: there are {len(mode_shape)} modes, numbered from 0",
            hints=["spatial_modes and local_modes name each mode once"],
        )
    kept = [mode for mode, size in enumerate(mode_shape) if size != 1]
    rank_of = {mode: number for number, mode in enumerate(kept)}
    return RegisterLayout(
        tuple(shape),
        tuple(mode_shape[mode] for mode in kept),
        tuple(rank_of.get(mode, mode) for mode in spatial_modes if mode < 0 or mode in rank_of),
        tuple(rank_of[mode] for mode in local_modes if mode in rank_of),
    ).merged()


def canonicalize_layout(layout: RegisterLayout) -> RegisterLayout:
    """The equivalent layout with the fewest modes."""
    return layout.merged()


def visualize_layout(layout: RegisterLayout) -> str:
    """A picture of the layout: the thread and the position of each element."""
    return layout.visualize()
