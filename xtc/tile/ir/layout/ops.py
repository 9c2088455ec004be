# SPDX-License-Identifier: Apache-2.0
"""How layouts are made from others."""

from xtc.tile.global_layouts import (
    global_column_major,
    global_row_major,
    global_strides,
)
from xtc.tile.layout import (
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
)
from xtc.tile.shared_layouts import (
    shared_column_major,
    shared_compose,
    shared_layout,
    shared_permute,
    shared_row_major,
    shared_row_major_swizzle,
)

__all__ = [
    "auto_local_spatial",
    "column_local",
    "column_spatial",
    "compose",
    "concat",
    "divide",
    "flatten",
    "global_column_major",
    "global_row_major",
    "global_strides",
    "left_divide",
    "local",
    "permute",
    "reduce",
    "register_layout",
    "replicated",
    "reshape",
    "shared_column_major",
    "shared_compose",
    "shared_layout",
    "shared_permute",
    "shared_row_major",
    "shared_row_major_swizzle",
    "spatial",
    "squeeze",
    "unsqueeze",
]
