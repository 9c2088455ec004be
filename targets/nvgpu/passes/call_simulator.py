# SPDX-License-Identifier: Apache-2.0
"""call-simulator: kernels in the llvm dialect become functions that the simulated GPU runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.mlir import (
    Attribute,
    FlatSymbolRefAttr,
    InsertionPoint,
    Module,
    Operation,
    Type,
)
from xtc.core.parts import symbol_of
from xtc.core.passes import Pass
from xtc.interfaces.target import kernel_symbol
from xtc_passes._linalg import all_operations
from xtc_targets.nvgpu.passes import _llvm as llvm
from xtc_targets.nvgpu.passes import _simulated as simulated
from xtc_targets.nvgpu.passes._device import BLOCK_ID, THREAD_ID, kernels, shape
from xtc_targets.nvgpu.passes._shared import SHARED_ALIGNMENT, dynamic_bytes, shared_globals

_CALLS = {BLOCK_ID: "cuda_block_id", THREAD_ID: "cuda_thread_id"}
_CONTRACT = """
llvm.func @cuda_block_id(i32) -> i32
llvm.func @cuda_thread_id(i32) -> i32
llvm.func @cuda_launch(!llvm.ptr, !llvm.ptr, !llvm.ptr)
"""


@dataclass(frozen=True)
class CallSimulator(Pass):
    """Replace what only a GPU has by calls of `csrc/cuda_sim.h`, and add the functions to launch.

    Before:
        llvm.func @f.nvgpu0.0(%a: !llvm.ptr<1>) attributes {nvgpu.grid = .., nvgpu.block = ..} {
          %t = nvvm.read.ptx.sreg.tid.x : i32 }
    After:
        llvm.func internal @f.nvgpu0.0(%a: !llvm.ptr<1>) { %t = llvm.call @cuda_thread_id(0) }
        llvm.func internal @f.nvgpu0.0.thread(%words) { llvm.call @f.nvgpu0.0(%words[0]) }
        llvm.func @f_nvgpu0_0(%words) { llvm.call @cuda_launch(@f.nvgpu0.0.thread, %words, shape) }
    """

    name: ClassVar[str] = "call-simulator"

    def run(self, module: Operation) -> None:
        found = kernels(module)
        if not found:
            return
        with module.context:
            llvm.declare(module, _CONTRACT)
            if any(op.name in simulated.CALLS for op in all_operations(module)):
                llvm.declare(module, simulated.DECLARATIONS)
            for kernel in found:
                nbytes = _place_shared(module, kernel)
                for op in all_operations(kernel):
                    if op.name in _CALLS:
                        _replace(op)
                _simulate(kernel)
                _export(module, kernel, nbytes)
            for op, _ in shared_globals(module).values():
                op.erase()


def _replace(op: Operation) -> None:
    ip = InsertionPoint(op)
    i32 = op.results[0].type
    with op.location:
        place = llvm.call(_CALLS[op.name], [llvm.constant(0, ip)], [i32], ip)
    op.results[0].replace_all_uses_with(place.results[0])
    op.erase()


def _simulate(kernel: Operation) -> None:
    """Call the simulator for what threads do together."""
    found = [op for op in all_operations(kernel) if op.name in simulated.CALLS]
    begin = InsertionPoint.at_block_begin(kernel.regions[0].blocks[0])
    with kernel.location:
        memory = simulated.scratch(begin) if found else None
    for op in found:
        with op.location:
            made = simulated.CALLS[op.name](op, InsertionPoint(op), memory)
        if made is not None:
            op.results[0].replace_all_uses_with(made)
        op.erase()


def _place_shared(module: Operation, kernel: Operation) -> int:
    """Give a kernel's globals in shared memory their places; returns the bytes of a block."""
    known, places, end = shared_globals(module), dict[str, int](), 0
    for op in all_operations(kernel):
        if op.name != "llvm.mlir.addressof":
            continue
        name = FlatSymbolRefAttr(op.attributes["global_name"]).value
        if name in known:
            if name not in places:
                places[name] = end
                end += -(-known[name][1] // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
            _replace_address(op, places[name])
    return end + dynamic_bytes(kernel)


def _replace_address(op: Operation, nbytes: int) -> None:
    """Shared memory begins where the simulator says; this is so many bytes behind it."""
    ip = InsertionPoint(op)
    with op.location:
        begin = llvm.call("cuda_shared", [], [Type.parse("!llvm.ptr")], ip).results[0]
        place, type = llvm.moved(begin, nbytes, ip), op.results[0].type
        cast = Operation.create("llvm.addrspacecast", [type], [place], ip=ip)
    op.results[0].replace_all_uses_with(cast.results[0])
    op.erase()


def _export(module: Operation, kernel: Operation, shared_bytes: int) -> None:
    name = symbol_of(kernel)
    types = [str(argument.type) for argument in kernel.regions[0].blocks[0].arguments]
    numbers = [size for sizes in shape(kernel) for size in sizes]
    with InsertionPoint(module.regions[0].blocks[0]):
        for op in Module.parse(_entry(name, types, [*numbers, shared_bytes])).body.operations:
            if op.operation.name != "llvm.func" or op.operation.regions[0].blocks:
                op.operation.clone()
    kernel.attributes["linkage"] = Attribute.parse("#llvm.linkage<internal>")


def _entry(name: str, types: list[str], numbers: list[int]) -> str:
    """The function that each thread runs, the launch's shape, and the function that is launched."""
    loads = [
        line
        for position, type in enumerate(types)
        for line in (
            f"%at{position} = llvm.getelementptr %words[{position}] "
            ": (!llvm.ptr) -> !llvm.ptr, i64",
            f"%value{position} = llvm.load %at{position} : !llvm.ptr -> {type}",
        )
    ]
    values = ", ".join(f"%value{position}" for position in range(len(types)))
    words = ", ".join(map(str, numbers))
    lines = [
        _CONTRACT,
        f"llvm.func @{name}({', '.join(types)})",
        f"llvm.mlir.global internal constant @{name}.shape(dense<[{words}]> : tensor<7xi32>)",
        "  : !llvm.array<7 x i32>",
        f"llvm.func internal @{name}.thread(%words: !llvm.ptr) {{",
        *loads,
        f"llvm.call @{name}({values}) : ({', '.join(types)}) -> ()",
        "llvm.return",
        "}",
        f"llvm.func @{kernel_symbol(name)}(%words: !llvm.ptr) {{",
        f"%thread = llvm.mlir.addressof @{name}.thread : !llvm.ptr",
        f"%shape = llvm.mlir.addressof @{name}.shape : !llvm.ptr",
        "llvm.call @cuda_launch(%thread, %words, %shape)",
        "  : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()",
        "llvm.return",
        "}",
    ]
    return "\n".join(lines)
