# SPDX-License-Identifier: Apache-2.0
"""How layouts of global tensors are made, by the module name of Tilus."""

from xtc.tile.ir.layout.global_layout import (
    global_column_major,
    global_row_major,
    global_slice,
    global_strides,
)

__all__ = ["global_column_major", "global_row_major", "global_slice", "global_strides"]
