# SPDX-License-Identifier: Apache-2.0
"""The attribute that group-rows writes and tile-rows reads."""

from __future__ import annotations

from xtc.ir.mlir import DenseI64ArrayAttr, Operation
from xtc_targets.nvgpu.passes._rows.row_space import Place

ROWS = "nvgpu.rows"
"""Attribute of an operation of a group: for each loop, the dimension of the rows, or -1."""


def loops_of(op: Operation) -> Place:
    """The dimension of the rows for each loop of an operation of a group."""
    dims = list(DenseI64ArrayAttr(op.attributes[ROWS]))
    return tuple(None if dim < 0 else dim for dim in dims)
