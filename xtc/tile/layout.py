# SPDX-License-Identifier: Apache-2.0
"""Register layouts for `annotate_layout`; `xtc/core/tile_layout.py` says how they work."""

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
    "replicated",
    "spatial",
]
