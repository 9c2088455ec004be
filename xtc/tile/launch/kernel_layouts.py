# SPDX-License-Identifier: Apache-2.0
"""The register layouts of a kernel's tiles."""

from __future__ import annotations

from xtc.core.tile_layout import RegisterLayout
from xtc.ir.mlir import Operation, RankedTensorType, all_operations
from xtc.ir.tile_dialect import layout_of


def layouts_in(kernel: Operation) -> list[RegisterLayout]:
    """The distinct layouts of a kernel's tiles, in program order."""
    found: dict[RegisterLayout, None] = {}
    for op in all_operations(kernel):
        for result in op.results:
            if isinstance(result.type, RankedTensorType):
                layout = layout_of(result)
                if layout is not None:
                    found[layout] = None
    return list(found)
