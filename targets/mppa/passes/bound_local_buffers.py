# SPDX-License-Identifier: Apache-2.0
"""bound-local-buffers: buffers whose size is known at run time get room for the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.mlir import (
    AffineConstantExpr,
    AffineMapAttr,
    DenseI32ArrayAttr,
    InsertionPoint,
    MemRefType,
    Operation,
    OpResult,
    Value,
    all_operations,
)
from xtc.ir.passes import Pass
from xtc_targets.mppa.passes import _control as control
from xtc_targets.mppa.passes import _device as device
from xtc_targets.mppa.passes import _replace as replace
from xtc_targets.mppa.passes import _views as views


@dataclass(frozen=True)
class BoundLocalBuffers(Pass):
    """Give every buffer that a kernel allocates a static size; frees are left away.

    Before:
        %n = affine.min affine_map<(d0) -> (32, -d0 + 100)>(%i)
        %a = memref.alloc(%n) : memref<?x8xf32, 2>
    After:
        %room = memref.alloc() : memref<32x8xf32, 2>
        %a = memref.subview %room[0, 0] [%n, 8] [1, 1] : .. to memref<?x8xf32, strided<[8, 1]>, 2>

    Places in SMEM are settled by the compiler, so there is nothing to free, and a size that
    depends on the iteration, as at the end of a dimension that tiles do not divide, has to be the
    smaller of itself and a constant. Raises CompileError where it is not.
    """

    name: ClassVar[str] = "bound-local-buffers"

    def run(self, module: Operation) -> None:
        with module.context:
            for function in device.functions(module):
                for op in all_operations(function):
                    if op.name == "memref.dealloc":
                        op.erase()
                    elif op.name == "memref.alloc" and len(op.operands):
                        with op.location, InsertionPoint(op):
                            _bound(op)


def _bound(alloc: Operation) -> None:
    type = MemRefType(alloc.results[0].type)
    dynamic = iter(list(alloc.operands))
    wanted = [next(dynamic) if one == views.DYNAMIC else one for one in type.shape]
    shape = [one if isinstance(one, int) else _largest(one, alloc) for one in wanted]
    room = Operation.create(
        "memref.alloc",
        results=[MemRefType.get(shape, type.element_type, None, type.memory_space)],
        attributes={
            **{name: alloc.attributes[name] for name in alloc.attributes},
            "operandSegmentSizes": DenseI32ArrayAttr.get([0, 0]),
        },
    ).results[0]
    view = replace.part(room, wanted)
    replace.replace_by_part(alloc.results[0], view)
    alloc.erase()


def _largest(size: Value, alloc: Operation) -> int:
    """The most that a size can be. Raises CompileError where it has no such limit."""
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
    known = control.known(size)
    if isinstance(known, int):
        return [known]
    op = size.owner
    if op.name == "affine.min":
        results = AffineMapAttr(op.attributes["map"]).value.results
        return [int(one.value) for one in results if isinstance(one, AffineConstantExpr)]
    if op.name in ("arith.minsi", "arith.minui"):
        return [limit for operand in op.operands for limit in _limits(operand)]
    return []
