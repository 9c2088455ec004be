# SPDX-License-Identifier: Apache-2.0
"""Prints from a thread by `vprintf`, as CUDA's device code does.

The arguments are in an array in memory, 8 bytes each (NVIDIA, "PTX Interoperability", on
`vprintf`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.builders import control
from xtc.ir.builders.llvm import advanced, call, constant
from xtc.ir.builders.numbers import compare
from xtc.ir.mlir import InsertionPoint, IntegerType, Module, Operation, StringAttr, Type, Value
from xtc.ir.mlir_llvm import llvm
from xtc.ir.partition import symbol_of, top_level

PRINT = "vprintf"
"""The symbol of the function that prints."""

_SLOT = 8


def print_text(op: Operation, kernel: Operation, values: Sequence[Value], thread: Value) -> None:
    """Print from the first thread."""
    text = StringAttr(op.attributes["format"]).value
    name = _text(kernel, text)
    with control.branch(compare("eq", thread, 0)):
        pointer = Type.parse("!llvm.ptr")
        size = _SLOT * max(1, len(values))
        memory = llvm.alloca(pointer, constant(size), IntegerType.get_signless(8), alignment=_SLOT)
        for at, value in enumerate(values):
            llvm.store(value, advanced(memory, _SLOT * at))
        format = llvm.mlir_addressof(pointer, name)
        call(PRINT, [format, memory], [IntegerType.get_signless(32)])


def _text(kernel: Operation, text: str) -> str:
    """Declare `vprintf` and a constant with this text; returns the constant's name."""
    module = kernel.parent
    known = {symbol_of(op): op for op in top_level(module) if op.name.startswith("llvm.")}
    with InsertionPoint(kernel):
        if PRINT not in known:
            _add(f"llvm.func @{PRINT}(!llvm.ptr, !llvm.ptr) -> i32")
        data = text.encode() + b"\0"
        name = f"{symbol_of(kernel)}.text{sum('.text' in symbol for symbol in known)}"
        escaped = "".join(f"\\{byte:02X}" for byte in data)
        _add(
            f'llvm.mlir.global internal constant @"{name}"("{escaped}") '
            f"{{addr_space = 0 : i32}} : !llvm.array<{len(data)} x i8>"
        )
    return name


def _add(text: str) -> None:
    for op in Module.parse(text).body.operations:
        op.operation.clone()
