# SPDX-License-Identifier: Apache-2.0
"""copy-by-loops: copies of strided memory become linalg.copy, which is lowered to loops."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xtc.ir.analysis.views import VIEWS
from xtc.ir.passes import Pass

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation, Value


@dataclass(frozen=True)
class CopyByLoops(Pass):
    """Rewrite each `memref.copy` that a single `memcpy` cannot do as `linalg.copy`.

    MLIR lowers such a copy to a call of `memrefCopy` in its runtime library, which generated code
    does not link.

        memref.copy %a, %b : memref<4xf32> to memref<4xf32, strided<[2]>>
        -> linalg.copy ins(%a : memref<4xf32>) outs(%b : memref<4xf32, strided<[2]>>)

    Attributes:
        parts: whether to rewrite copies of a part of a buffer even if the part is dense.
        whole: whether to rewrite all copies, those of whole buffers included.
    """

    name: ClassVar[str] = "copy-by-loops"
    parts: bool = False
    whole: bool = False

    def run(self, module: Operation) -> None:
        from xtc.ir.mlir import all_operations

        for copy in [op for op in all_operations(module) if op.name == "memref.copy"]:
            if self.whole or not all(self._is_whole(operand) for operand in copy.operands):
                _rewrite(copy)

    def _is_whole(self, memref: Value) -> bool:
        return _is_dense(memref) and not (self.parts and _is_part(memref))


def _is_part(memref: Value) -> bool:
    """Whether it is a view of a part of a buffer, in any shape."""
    while getattr(memref.owner, "name", "") in VIEWS:
        if memref.owner.name == "memref.subview":
            return True
        memref = memref.owner.operands[0]
    return False


def _is_dense(memref: Value) -> bool:
    """Whether it is row-major without gaps; dimensions of size 1 may have any stride."""
    from xtc.ir.mlir import MemRefType

    type = MemRefType(memref.type)
    strides, _ = type.get_strides_and_offset()
    inner = list(
        itertools.dropwhile(lambda pair: pair[0] == 1, zip(type.shape, strides, strict=True))
    )
    expected = 1
    for size, stride in reversed(inner):
        if stride != expected:
            return False
        expected *= size
    return True


def _rewrite(copy: Operation) -> None:
    from xtc.ir.builders import generic
    from xtc.ir.mlir import InsertionPoint

    with copy.context, copy.location:
        source, target = copy.operands
        generic.copy(source, target, ip=InsertionPoint(copy))
    copy.erase()
