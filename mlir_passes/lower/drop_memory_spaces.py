# SPDX-License-Identifier: Apache-2.0
"""drop-memory-spaces: for machines whose memories share one kind of address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import FunctionType, MemRefType, Operation, Type, TypeAttr, all_operations
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class DropMemorySpaces(Pass):
    """Remove memory spaces from all types, after the last pass that reads them.

    Before:
        %v = memref.load %a[%i] : memref<8xf32, 2>
    After:
        %v = memref.load %a[%i] : memref<8xf32>
    """

    name: ClassVar[str] = "drop-memory-spaces"

    def run(self, module: Operation) -> None:
        with module.context, module.location:
            for op in all_operations(module):
                for result in op.results:
                    result.set_type(_plain(result.type))
                for region in op.regions:
                    for block in region.blocks:
                        for argument in block.arguments:
                            argument.set_type(_plain(argument.type))
                for name in ("function_type", "type"):
                    if name in op.attributes and isinstance(op.attributes[name], TypeAttr):
                        plain = _plain(TypeAttr(op.attributes[name]).value)
                        op.attributes[name] = TypeAttr.get(plain)


def _plain(type: Type) -> Type:
    """A type without memory spaces."""
    if isinstance(type, MemRefType):
        return MemRefType.get(type.shape, type.element_type, type.layout)
    if isinstance(type, FunctionType):
        return FunctionType.get(list(map(_plain, type.inputs)), list(map(_plain, type.results)))
    return type
