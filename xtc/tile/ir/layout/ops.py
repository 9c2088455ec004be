# SPDX-License-Identifier: Apache-2.0
"""How layouts are made from others."""

from xtc.tile.layout import (
    column_local,
    column_spatial,
    concat,
    local,
    reduce,
    register_layout,
    replicated,
    spatial,
)

__all__ = [
    "column_local",
    "column_spatial",
    "concat",
    "local",
    "reduce",
    "register_layout",
    "replicated",
    "spatial",
]
