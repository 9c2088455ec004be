# SPDX-License-Identifier: Apache-2.0
"""pack-arguments: wraps kernels in functions that take their arguments as one array of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.interfaces.target import kernel_symbol
from xtc.ir.mlir import InsertionPoint, Module, Operation, StringAttr
from xtc.ir.partition import symbol_of, top_level
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class PackArguments(Pass):
    """Add a function in the llvm dialect that loads a kernel's arguments from an array.

    Before:
        llvm.func @f.npu0.0(%a: !llvm.ptr, %r: !llvm.ptr) { ... }
    After:
        llvm.func internal @f.npu0.0(%a: !llvm.ptr, %r: !llvm.ptr) { ... }
        llvm.func @f_npu0_0(%words: !llvm.ptr) {
          %0 = llvm.load %words[0] ; %1 = llvm.load %words[1]
          llvm.call @f.npu0.0(%0, %1) ; llvm.return }

    Kernels are the functions whose names contain dots, which C names cannot.
    """

    name: ClassVar[str] = "pack-arguments"

    def run(self, module: Operation) -> None:
        kernels = [op for op in top_level(module) if _is_kernel(op)]
        with module.context, InsertionPoint(module.regions[0].blocks[0]):
            for kernel in kernels:
                for op in Module.parse(_entry(kernel)).body.operations:
                    if op.operation.regions[0].blocks:
                        op.operation.clone()
                kernel.attributes["linkage"] = _internal()


def _is_kernel(op: Operation) -> bool:
    return op.name == "llvm.func" and bool(op.regions[0].blocks) and "." in symbol_of(op)


def _internal() -> StringAttr:
    from xtc.ir.mlir import Attribute

    return Attribute.parse("#llvm.linkage<internal>")


def _entry(kernel: Operation) -> str:
    name = symbol_of(kernel)
    types = [str(argument.type) for argument in kernel.regions[0].blocks[0].arguments]
    lines = [
        f"llvm.func @{name}({', '.join(types)})",
        f"llvm.func @{kernel_symbol(name)}(%words: !llvm.ptr) {{",
    ]
    for position, type in enumerate(types):
        lines += [
            f"%at{position} = llvm.getelementptr %words[{position}] "
            ": (!llvm.ptr) -> !llvm.ptr, i64",
            f"%value{position} = llvm.load %at{position} : !llvm.ptr -> {type}",
        ]
    values = ", ".join(f"%value{position}" for position in range(len(types)))
    lines += [f"llvm.call @{name}({values}) : ({', '.join(types)}) -> ()", "llvm.return", "}"]
    return "\n".join(lines)
