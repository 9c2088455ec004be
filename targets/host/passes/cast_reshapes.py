# SPDX-License-Identifier: Apache-2.0
"""cast-reshapes: a buffer that is seen with fewer dimensions is read by its own strides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.views import is_reshape
from xtc.ir.mlir import InsertionPoint, MemRefType, Operation, all_operations, memref
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class CastReshapes(Pass):
    """Make casts of views that join dimensions of a dense buffer.

    `fold-memref-alias-ops` puts a joined index into the buffer's own dimensions: a quotient and a
    remainder in each iteration of a loop over it, which took a third of the time of a product that
    reads the heads of an attention. It leaves casts alone.

    Before:
        %rows = memref.collapse_shape %heads [[0], [1, 2]]
            : memref<128x12x64xf32> into memref<128x768xf32>
    After:
        %rows = memref.reinterpret_cast %heads to offset: [0], sizes: [128, 768], strides: [768, 1]
            : memref<128x12x64xf32> to memref<128x768xf32>
    """

    name: ClassVar[str] = "cast-reshapes"

    def run(self, module: Operation) -> None:
        with module.context:
            for op in all_operations(module):
                if op.name == "memref.collapse_shape" and _is_static(op) and is_reshape(op):
                    _cast(op)


def _is_static(view: Operation) -> bool:
    return bool(MemRefType(view.results[0].type).has_static_shape)


def _cast(view: Operation) -> None:
    type = MemRefType(view.results[0].type)
    strides, offset = type.get_strides_and_offset()
    with InsertionPoint(view), view.location:
        cast = memref.reinterpret_cast(
            type, view.operands[0], [], [], [], [offset], list(type.shape), list(strides)
        )
    view.results[0].replace_all_uses_with(cast)
    view.erase()
