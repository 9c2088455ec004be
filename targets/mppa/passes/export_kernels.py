# SPDX-License-Identifier: Apache-2.0
"""export-kernels: gives kernels and functions of PEs the signatures of `csrc/dev.h`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.analysis.linalg_ops import operations_with
from xtc.ir.attributes import UNITS
from xtc.ir.mlir import (
    Attribute,
    FlatSymbolRefAttr,
    InsertionPoint,
    IntegerAttr,
    Module,
    Operation,
    StringAttr,
    UnitAttr,
)
from xtc.ir.partition import symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_targets.mppa.passes._device_calls import KERNEL, exported

LAUNCH = "dev_pe_launch"
_DECLARATION = f"llvm.func @{LAUNCH}(!llvm.ptr, !llvm.ptr, i32)"
_POINTER = "!llvm.ptr"
_INTERNAL = "#llvm.linkage<internal>"


@dataclass(frozen=True)
class ExportKernels(Pass):
    """Give kernels the signature for the host, and functions of PEs the signature for PEs.

    Before:
        llvm.call @k.pe0(%c0, %a, %i) {xtc.units = 16 : i64} : (i64, !llvm.ptr, i64) -> ()
    After:
        llvm.call @k.pe0.launch(%c0, %a, %i) : (i64, !llvm.ptr, i64) -> ()
        // launch calls dev_pe_launch(@k.pe0.run, address of {%a, %i}, 16)
        // run(%pe: i32, %context: !llvm.ptr) calls @k.pe0(%pe, %a, %i)

    A kernel `f.mppa0.1` gets an exported function `f_mppa0_1`, which loads the addresses of its
    arguments from the array that the host passes.
    """

    name: ClassVar[str] = "export-kernels"

    def run(self, module: Operation) -> None:
        functions = {symbol_of(op): op for op in top_level(module) if op.name == "llvm.func"}
        if operations_with(module, UNITS):
            _append(module, _DECLARATION)
        for call in operations_with(module, UNITS):
            self._launch(module, call, functions)
        for kernel in [op for op in functions.values() if KERNEL in op.attributes]:
            self._export(module, kernel)

    def _launch(self, module: Operation, call: Operation, functions: dict[str, Operation]) -> None:
        body = FlatSymbolRefAttr(call.attributes["callee"]).value
        types = [str(operand.type) for operand in call.operands]
        pes = int(IntegerAttr(call.attributes[UNITS]).value)
        _append(module, _launch_text(body, types, pes), skip=(body, LAUNCH))
        # Not inlined, so that LLVM keeps the aliasing attributes of its arguments.
        functions[body].attributes["no_inline"] = UnitAttr.get(module.context)
        call.attributes["callee"] = FlatSymbolRefAttr.get(f"{body}.launch", module.context)
        del call.attributes[UNITS]

    def _export(self, module: Operation, kernel: Operation) -> None:
        name = symbol_of(kernel)
        types = [str(argument.type) for argument in kernel.regions[0].blocks[0].arguments]
        if any(type != _POINTER for type in types):
            raise CompileError(
                f"kernel '{name}' has an argument that is not a buffer", where=str(kernel.location)
            )
        control = f"{name}.control"
        with module.context:
            kernel.attributes["sym_name"] = StringAttr.get(control)
            kernel.attributes["linkage"] = Attribute.parse(_INTERNAL)
        _append(module, _export_text(exported(name), control, len(types)), skip=(control,))


def _append(module: Operation, text: str, skip: Sequence[str] = ()) -> None:
    """Add the definitions of the text, without the declarations: the symbols to skip."""
    with module.context, InsertionPoint(module.regions[0].blocks[0]):
        for op in Module.parse(text).body.operations:
            if symbol_of(op.operation) not in skip:
                op.operation.clone()


def _launch_text(body: str, types: Sequence[str], pes: int) -> str:
    """The function that launches PEs, and the function that each of them runs."""
    names = [f"%value{position}" for position in range(len(types))]
    typed = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=True))
    context = f"!llvm.struct<({', '.join(types[1:])})>"
    packed = "%packed{}".format
    pack = [
        f"{packed(n)} = llvm.insertvalue {names[n]}, {packed(n - 1)}[{n - 1}] : {context}"
        for n in range(1, len(types))
    ]
    unpack = [
        f"{names[n]} = llvm.extractvalue %all[{n - 1}] : {context}" for n in range(1, len(types))
    ]
    signature = ", ".join(types)
    lines = [
        f"llvm.func @{body}({signature})",
        _DECLARATION,
        f"llvm.func internal @{body}.launch({typed}) {{",
        "%one = llvm.mlir.constant(1 : i64) : i64",
        f"%context = llvm.alloca %one x {context} : (i64) -> !llvm.ptr",
        f"{packed(0)} = llvm.mlir.poison : {context}",
        *pack,
        f"llvm.store {packed(len(types) - 1)}, %context : {context}, !llvm.ptr",
        f"%run = llvm.mlir.addressof @{body}.run : !llvm.ptr",
        f"%pes = llvm.mlir.constant({pes} : i32) : i32",
        "llvm.call @dev_pe_launch(%run, %context, %pes) : (!llvm.ptr, !llvm.ptr, i32) -> ()",
        "llvm.return",
        "}",
        f"llvm.func internal @{body}.run(%pe: i32, %context: !llvm.ptr) {{",
        f"%all = llvm.load %context : !llvm.ptr -> {context}",
        f"{names[0]} = llvm.zext %pe : i32 to i64",
        *unpack,
        f"llvm.call @{body}({', '.join(names)}) : ({signature}) -> ()",
        "llvm.return",
        "}",
    ]
    return "\n".join(lines)


def _export_text(name: str, control: str, count: int) -> str:
    """The function that the host launches."""
    load = [
        line
        for n in range(count)
        for line in (
            f"%position{n} = llvm.getelementptr %arguments[{n}] : (!llvm.ptr) -> !llvm.ptr, i64",
            f"%argument{n} = llvm.load %position{n} : !llvm.ptr -> !llvm.ptr",
        )
    ]
    names = ", ".join(f"%argument{n}" for n in range(count))
    types = ", ".join([_POINTER] * count)
    lines = [
        f"llvm.func @{control}({types})",
        f"llvm.func @{name}(%arguments: !llvm.ptr) {{",
        *load,
        f"llvm.call @{control}({names}) : ({types}) -> ()",
        "llvm.return",
        "}",
    ]
    return "\n".join(lines)
