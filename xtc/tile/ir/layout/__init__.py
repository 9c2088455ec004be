# SPDX-License-Identifier: Apache-2.0
"""Layouts of register and shared tensors."""

from xtc.tile.cuda import SharedLayout
from xtc.tile.layout import (
    RegisterLayout,
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
    "RegisterLayout",
    "SharedLayout",
    "column_local",
    "column_spatial",
    "concat",
    "local",
    "reduce",
    "register_layout",
    "replicated",
    "spatial",
]
