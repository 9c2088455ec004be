# SPDX-License-Identifier: Apache-2.0
"""bound-local-buffers: local buffers of dynamic size get the static size of the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.builders import numbers
from xtc.ir.mlir import (
    AffineConstantExpr,
    AffineMapAttr,
    InsertionPoint,
    MemRefType,
    Operation,
    OpResult,
    Value,
    all_operations,
)
from xtc.ir.passes import Pass
from xtc_passes.local import _view_layouts as layouts
from xtc_passes.local._functions import functions
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._retyped_views import leading_part, reallocated, replace_by_part


@dataclass(frozen=True)
class BoundLocalBuffers(Pass):
    """Give every local buffer a static size, and erase its deallocation.

    Before:
        %n = affine.min affine_map<(d0) -> (32, -d0 + 100)>(%i)
        %a = memref.alloc(%n) : memref<?x8xf32, 2>
    After:
        %largest = memref.alloc() : memref<32x8xf32, 2>
        %a = memref.subview %largest[0, 0] [%n, 8] [1, 1]
          : .. to memref<?x8xf32, strided<[8, 1]>, 2>

    The compiler assigns the offsets of local buffers, so there is nothing to free. A dynamic size,
    as in the last tile of a dimension, must be the minimum of a value and a constant. Raises
    CompileError for any other size.

    Attributes:
        space: the memory space of local buffers; None if kernels allocate buffers only there.
    """

    name: ClassVar[str] = "bound-local-buffers"
    space: int | None = None

    def run(self, module: Operation) -> None:
        memory = LocalMemory(self.space)
        with module.context:
            for function in functions(module):
                for op in all_operations(function):
                    if op.name == "memref.dealloc" and memory.holds(op.operands[0]):
                        op.erase()
                for op in memory.buffers(function):
                    if len(op.operands):
                        with op.location, InsertionPoint(op):
                            _bound(op)


def _bound(alloc: Operation) -> None:
    type = MemRefType(alloc.results[0].type)
    dynamic = iter(list(alloc.operands))
    wanted = [next(dynamic) if size == layouts.DYNAMIC else size for size in type.shape]
    shape = [size if isinstance(size, int) else _largest(size, alloc) for size in wanted]
    bounded = MemRefType.get(shape, type.element_type, None, type.memory_space)
    largest = reallocated(alloc, bounded)
    view = leading_part(largest, wanted)
    replace_by_part(alloc.results[0], view)
    alloc.erase()


def _largest(size: Value, alloc: Operation) -> int:
    """The upper bound of a size. Raises CompileError if there is none."""
    limits = _limits(size)
    if not limits:
        raise CompileError(
            f"the size of a buffer has no limit: {alloc.results[0].type}",
            where=str(alloc.location),
        )
    return min(limits)


def _limits(size: Value) -> list[int]:
    if not isinstance(size, OpResult):
        return []
    known = numbers.known(size)
    if isinstance(known, int):
        return [known]
    op = size.owner
    if op.name == "affine.min":
        results = AffineMapAttr(op.attributes["map"]).value.results
        return [int(limit.value) for limit in results if isinstance(limit, AffineConstantExpr)]
    if op.name in ("arith.minsi", "arith.minui"):
        return [limit for operand in op.operands for limit in _limits(operand)]
    return []
