# SPDX-License-Identifier: Apache-2.0
"""cast-reshapes: reads collapsed views of dense buffers by strides instead of divisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.views import is_reshape
from xtc.ir.mlir import InsertionPoint, MemRefType, Operation, all_operations, memref
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class CastReshapes(Pass):
    """Replace views that collapse dimensions of a dense buffer by casts.

    `fold-memref-alias-ops` expands a collapsed index into the dimensions of the buffer, with a
    quotient and a remainder in each iteration. This took a third of the time of a contraction that
    reads the heads of an attention. It does not fold casts.

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
