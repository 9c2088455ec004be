# SPDX-License-Identifier: Apache-2.0
"""share-buffers: removes copies by letting source and destination share memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import InsertionPoint, MemRefType, Operation, memref
from xtc.ir.passes import Pass
from xtc_targets.host.passes._sharing import Sharing, is_same_memory
from xtc_targets.host.passes._strided_views import allows_strides, replace_by_view


@dataclass(frozen=True)
class ShareBuffers(Pass):
    """Replace a buffer that is copied to or from a part of another buffer by that part.

    Before:
        %a = memref.alloc() : memref<4x8xf32>
        linalg.exp ins(%x) outs(%a)
        %part = memref.subview %both[0, 8] [4, 8] [1, 1]
        memref.copy %a, %part
    After:
        %part = memref.subview %both[0, 8] [4, 8] [1, 1]
        linalg.exp ins(%x) outs(%part)

    The operands of a concatenation are then computed in its result, the inside of a padded tensor
    within its border, and a residual is read there. The copy is removed if every read keeps its
    result: neither buffer may change while the contents of the other one are needed. The pass
    handles copies between the operators of a function, not those inside loops.
    """

    name: ClassVar[str] = "share-buffers"

    def run(self, module: Operation) -> None:
        for function in [op.operation for op in module.regions[0].blocks[0].operations]:
            if function.name == "func.func" and len(function.regions[0].blocks) == 1:
                with module.context, function.location:
                    _narrow(function)
                    while _share(function):
                        pass


def _share(function: Operation) -> bool:
    """Remove unnecessary copies of a function; returns whether there were any."""
    ops = [op.operation for op in function.regions[0].blocks[0].operations]
    copies = [op for op in ops if op.name == "memref.copy"]
    return sum(_remove(copy, function) for copy in copies) > 0


def _narrow(function: Operation) -> None:
    """Shrink buffers to the only part of them that is used."""
    ops = [op.operation for op in function.regions[0].blocks[0].operations]
    for op in [op for op in ops if op.name == "memref.alloc" and not len(op.operands)]:
        parts = [use.owner.operation for use in op.results[0].uses]
        if len(parts) != 1 or parts[0].name != "memref.subview" or len(parts[0].operands) > 1:
            continue
        part = parts[0].results[0]
        type = MemRefType(part.type)
        dense = MemRefType.get(type.shape, type.element_type, None, type.memory_space)
        if allows_strides(part, dense.get_strides_and_offset()[0]):
            with op.location, InsertionPoint(op):
                alignment = op.attributes.get("alignment", None)
                result = memref.alloc(dense, [], [], alignment=alignment)
            replace_by_view(part, result)
            parts[0].erase()
            op.erase()


def _remove(copy: Operation, function: Operation) -> bool:
    """Merge the two buffers of a copy if that is possible, and erase the copy."""
    if is_same_memory(*copy.operands):
        copy.erase()
        return True
    for number in (0, 1):
        whole, part = copy.operands[number], copy.operands[1 - number]
        found = Sharing.of(whole, part, function)
        if found is not None and found.is_unseen():
            with copy.location:
                found.apply()
            copy.erase()
            return True
    return False
