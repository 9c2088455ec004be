# SPDX-License-Identifier: Apache-2.0
"""Functions that create layouts of global tensors, under Tilus's module name."""

from xtc.tile.ir.layout.global_layout import (
    global_column_major,
    global_row_major,
    global_slice,
    global_strides,
)

__all__ = ["global_column_major", "global_row_major", "global_slice", "global_strides"]
