# SPDX-License-Identifier: Apache-2.0
"""Register layouts for `annotate_layout`; `xtc/core/tile_layout.py` says how they work."""

from collections.abc import Sequence

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
    "column_local",
    "column_spatial",
    "concat",
    "local",
    "reduce",
    "register_layout",
    "replicated",
    "spatial",
]


def register_layout(
    shape: Sequence[int],
    mode_shape: Sequence[int],
    spatial_modes: Sequence[int],
    local_modes: Sequence[int],
) -> RegisterLayout:
    """A layout from its modes. Raises UserError where they do not make up the shape.

    Args:
        shape: of the tile.
        mode_shape: sizes of the modes, those of the first dimension first.
        spatial_modes: the modes that number the threads; -n for n threads that hold the same.
        local_modes: the modes that number the elements of a thread.
    """
    return RegisterLayout(tuple(shape), tuple(mode_shape), tuple(spatial_modes), tuple(local_modes))
