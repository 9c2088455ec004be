# SPDX-License-Identifier: Apache-2.0
"""drop-memory-spaces: for a machine whose memories have one address space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.mlir import FunctionType, MemRefType, Operation, Type, TypeAttr, Value
from xtc.core.passes import Pass
from xtc_passes._linalg import all_operations


@dataclass(frozen=True)
class DropMemorySpaces(Pass):
    """Forget the memory space of every buffer.

    Before:
        func.func @f(%a: memref<4xf32, 1>) { ... memref.load %a[%i] : memref<4xf32, 1> }
    After:
        func.func @f(%a: memref<4xf32>) { ... memref.load %a[%i] : memref<4xf32> }
    """

    name: ClassVar[str] = "drop-memory-spaces"

    def run(self, module: Operation) -> None:
        with module.context, module.location:
            for op in all_operations(module):
                for result in op.results:
                    _drop(result)
                for region in op.regions:
                    for block in region.blocks:
                        for argument in block.arguments:
                            _drop(argument)
                if op.name == "func.func":
                    _retype(op)


def _drop(value: Value) -> None:
    if isinstance(value.type, MemRefType):
        value.set_type(_plain(value.type))


def _plain(type: Type) -> Type:
    if not isinstance(type, MemRefType):
        return type
    return MemRefType.get(type.shape, type.element_type, type.layout)


def _retype(function: Operation) -> None:
    kind = FunctionType(TypeAttr(function.attributes["function_type"]).value)
    new = FunctionType.get([_plain(one) for one in kind.inputs], [_plain(r) for r in kind.results])
    function.attributes["function_type"] = TypeAttr.get(new)
