# SPDX-License-Identifier: Apache-2.0
"""Shared memory of a kernel: a global of memory space 3."""

from __future__ import annotations

import re

from xtc.core.mlir import (
    FlatSymbolRefAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Module,
    Operation,
    Type,
    Value,
)
from xtc.core.parts import symbol_of, top_level
from xtc.interfaces.target import kernel_symbol
from xtc_targets.nvgpu.passes._code import Code

DYNAMIC = "nvgpu.dynamic_shared_bytes"
"""Attribute of a kernel: bytes of shared memory that its launch asks for."""

MOST_STATIC = 48 << 10
"""Bytes that a kernel may declare; more is given to those launches alone that ask for it ("CUDA C++
Programming Guide", "Shared Memory" of compute capabilities 8.x and 9.0)."""

SHARED_ALIGNMENT = 1024
"""Bytes that shared memory of a kernel begins at a multiple of."""

_ARRAY = re.compile(r"!llvm\.array<(\d+) x i8>")


def shared_memory(kernel: Operation, nbytes: int, code: Code) -> Value:
    """The address of so many bytes of shared memory, aligned to 1024, that the kernel gets."""
    name = f"{kernel_symbol(symbol_of(kernel))}_shared"
    static = nbytes <= MOST_STATIC
    linkage, size = ("internal", nbytes) if static else ("external", 0)
    text = (
        f"llvm.mlir.global {linkage} @{name}() {{addr_space = 3 : i32, "
        f"alignment = {SHARED_ALIGNMENT} : i64}} : !llvm.array<{size} x i8>"
    )
    with InsertionPoint(kernel):
        for op in Module.parse(text).body.operations:
            op.operation.clone()
    if not static:
        kernel.attributes[DYNAMIC] = IntegerAttr.get(IntegerType.get_signless(64), nbytes)
    attributes = {"global_name": FlatSymbolRefAttr.get(name)}
    return code.value("llvm.mlir.addressof", Type.parse("!llvm.ptr<3>"), (), attributes)


def dynamic_bytes(kernel: Operation) -> int:
    """Bytes of shared memory that a launch asks for."""
    return _number(kernel, DYNAMIC)


def shared_globals(module: Operation) -> dict[str, tuple[Operation, int]]:
    """Globals in shared memory by name, and their bytes."""
    found = {}
    for op in top_level(module):
        if op.name == "llvm.mlir.global" and _number(op, "addr_space") == 3:
            match = _ARRAY.fullmatch(str(op.attributes["global_type"]))
            found[symbol_of(op)] = (op, int(match[1]) if match else 0)
    return found


def _number(op: Operation, name: str) -> int:
    """An attribute of an operation; 0 where it has none."""
    return int(IntegerAttr(op.attributes[name]).value) if name in op.attributes else 0
