# SPDX-License-Identifier: Apache-2.0
"""Layouts of register, shared and global tensors."""

from xtc.tile.global_layouts import GlobalLayout
from xtc.tile.layout import (
    RegisterLayout,
    auto_local_spatial,
    column_local,
    column_spatial,
    compose,
    concat,
    divide,
    flatten,
    left_divide,
    local,
    permute,
    reduce,
    register_layout,
    replicated,
    reshape,
    spatial,
    squeeze,
    unsqueeze,
    visualize_layout,
)
from xtc.tile.shared_layouts import SharedLayout, shared_layout

__all__ = [
    "GlobalLayout",
    "RegisterLayout",
    "SharedLayout",
    "auto_local_spatial",
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
    "register_layout",
    "replicated",
    "reshape",
    "shared_layout",
    "spatial",
    "squeeze",
    "unsqueeze",
    "visualize_layout",
]
