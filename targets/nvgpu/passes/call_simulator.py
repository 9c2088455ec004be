# SPDX-License-Identifier: Apache-2.0
"""call-simulator: turns kernels in the llvm dialect into functions for the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.interfaces.target import kernel_symbol
from xtc.ir.builders.functions import declare
from xtc.ir.builders.llvm import call, constant
from xtc.ir.builders.tile import cluster_of
from xtc.ir.mlir import (
    Attribute,
    FlatSymbolRefAttr,
    InsertionPoint,
    Module,
    Operation,
    StringAttr,
    Type,
    all_operations,
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.partition import symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._kernels import (
    BLOCK_ID,
    GRID_SIZE,
    SHARED_SYMBOL,
    THREAD_ID,
    first_registers,
    kernels,
    resident_blocks,
    shape,
    shared_bytes,
)
from xtc_targets.nvgpu.passes._launch_maps import launch_maps
from xtc_targets.nvgpu.passes._simulation import gpu_calls as simulated
from xtc_targets.nvgpu.passes._simulation.independent_blocks import has_independent_blocks
from xtc_targets.nvgpu.passes._tiles.texts import PRINT

_AXES = "xyz"
_POSITIONS = {
    f"{sreg.removesuffix('x')}{axis}": (function, number)
    for sreg, function in (
        (BLOCK_ID, "cuda_block_id"),
        (THREAD_ID, "cuda_thread_id"),
        (GRID_SIZE, "cuda_grid_size"),
    )
    for number, axis in enumerate(_AXES)
}
"""The function that reads each special register, and its argument."""
_PRINT = "cuda_print"
_LAUNCH, _LAUNCH_INDEPENDENT = "cuda_launch", "cuda_launch_independent"
_CONTRACT = """
llvm.func @cuda_block_id(i32) -> i32
llvm.func @cuda_thread_id(i32) -> i32
llvm.func @cuda_grid_size(i32) -> i32
llvm.func @cuda_shared() -> !llvm.ptr
llvm.func @cuda_barrier_at(i32)
llvm.func @cuda_next_barrier(i32)
llvm.func @cuda_launch(!llvm.ptr, !llvm.ptr, !llvm.ptr)
llvm.func @cuda_launch_independent(!llvm.ptr, !llvm.ptr, !llvm.ptr)
llvm.func @cuda_with_maps(!llvm.ptr, i32, !llvm.ptr, i32) -> !llvm.ptr
"""


@dataclass(frozen=True)
class CallSimulator(Pass):
    """Replace GPU instructions by calls of `csrc/cuda_sim.h`, and add the functions to launch.

    Before:
        llvm.func @f.nvgpu0.0(%a: !llvm.ptr<1>) attributes {nvgpu.grid = .., nvgpu.block = ..} {
          %t = nvvm.read.ptx.sreg.tid.x : i32 }
    After:
        llvm.func internal @f.nvgpu0.0(%a: !llvm.ptr<1>) { %t = llvm.call @cuda_thread_id(0) }
        llvm.func internal @f.nvgpu0.0.thread(%words) { llvm.call @f.nvgpu0.0(%words[0]) }
        llvm.func @f_nvgpu0_0(%words) {
          llvm.call @cuda_launch_independent(@f.nvgpu0.0.thread, %words, shape) }

    A kernel whose blocks wait for each other, or have atomic accesses to global memory, calls
    `cuda_launch`, which runs one block at a time.

    Raises CompileError for an operation of the nvvm dialect, or a form of one, that the simulator
    does not support.
    """

    name: ClassVar[str] = "call-simulator"

    def run(self, module: Operation) -> None:
        found = kernels(module)
        if not found:
            return
        with module.context:
            declare(module, _CONTRACT)
            simulated.declare(module)
            launches = [
                _LAUNCH_INDEPENDENT if has_independent_blocks(module, kernel) else _LAUNCH
                for kernel in found
            ]
            for kernel, launch in zip(found, launches, strict=True):
                for op in all_operations(kernel):
                    with op.location:
                        _replace(op)
                simulated.replace(kernel)
                _export(module, kernel, launch)
            for op in all_operations(module):
                if op.name == "llvm.call" and str(op.attributes.get("callee")) == f"@{PRINT}":
                    op.attributes["callee"] = FlatSymbolRefAttr.get(_PRINT)
            for op in top_level(module):
                if op.name == "llvm.func" and symbol_of(op) == PRINT:
                    op.attributes["sym_name"] = StringAttr.get(_PRINT)
                if op.name == "llvm.mlir.global" and symbol_of(op) == SHARED_SYMBOL:
                    op.erase()


def _replace(op: Operation) -> None:
    """Replace a GPU operation by a call; others stay."""
    ip = InsertionPoint(op)
    if op.name in _POSITIONS:
        function, axis = _POSITIONS[op.name]
        made = call(function, [constant(axis, ip)], [op.results[0].type], ip).results[0]
    elif _is_shared_memory(op):
        plain = call("cuda_shared", [], [Type.parse("!llvm.ptr")], ip).results[0]
        made = llvm.addrspacecast(op.results[0].type, plain, ip=ip)
    else:
        return
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _is_shared_memory(op: Operation) -> bool:
    if op.name != "llvm.mlir.addressof":
        return False
    return bool(FlatSymbolRefAttr(op.attributes["global_name"]).value == SHARED_SYMBOL)


def _export(module: Operation, kernel: Operation, launch: str) -> None:
    name = symbol_of(kernel)
    types = [str(argument.type) for argument in kernel.regions[0].blocks[0].arguments]
    numbers = [*(size for sizes in shape(kernel) for size in sizes), shared_bytes(kernel)]
    numbers += [*cluster_of(kernel), first_registers(kernel), resident_blocks(kernel)]
    entry = _entry(name, types, numbers, launch, launch_maps(kernel))
    with InsertionPoint(module.regions[0].blocks[0]):
        for op in Module.parse(entry).body.operations:
            if op.operation.name != "llvm.func" or op.operation.regions[0].blocks:
                op.operation.clone()
    kernel.attributes["linkage"] = Attribute.parse("#llvm.linkage<internal>")


def _entry(
    name: str, types: list[str], numbers: list[int], launch: str, maps: list[list[int]]
) -> str:
    """The function of a thread, the launch's shape, and the function that the host calls."""
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
    words, count = ", ".join(map(str, numbers)), len(numbers)
    lines = [
        _CONTRACT,
        f"llvm.func @{name}({', '.join(types)})",
        f"llvm.mlir.global internal constant @{name}.shape(dense<[{words}]> : tensor<{count}xi32>)",
        f"  : !llvm.array<{count} x i32>",
        f"llvm.func internal @{name}.thread(%words: !llvm.ptr) {{",
        *loads,
        f"llvm.call @{name}({values}) : ({', '.join(types)}) -> ()",
        "llvm.return",
        "}",
        *_maps(name, maps),
        f"llvm.func @{kernel_symbol(name)}(%{'given' if maps else 'words'}: !llvm.ptr) {{",
        *_with_maps(name, len(types) - len(maps), len(maps)),
        f"%thread = llvm.mlir.addressof @{name}.thread : !llvm.ptr",
        f"%shape = llvm.mlir.addressof @{name}.shape : !llvm.ptr",
        f"llvm.call @{launch}(%thread, %words, %shape)",
        "  : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()",
        "llvm.return",
        "}",
    ]
    return "\n".join(lines)


def _maps(name: str, maps: list[list[int]]) -> list[str]:
    """The constant with the sources of the maps that a launch encodes."""
    words = [word for each in maps for word in each]
    kind = f"llvm.mlir.global internal constant @{name}.maps(dense<{words}> : "
    return [f"{kind}tensor<{len(words)}xi64>) : !llvm.array<{len(words)} x i64>"] if maps else []


def _with_maps(name: str, count: int, maps: int) -> list[str]:
    """The arguments of a launch, followed by its maps."""
    if not maps:
        return []
    return [
        f"%count = llvm.mlir.constant({count} : i32) : i32",
        f"%number = llvm.mlir.constant({maps} : i32) : i32",
        f"%sources = llvm.mlir.addressof @{name}.maps : !llvm.ptr",
        "%words = llvm.call @cuda_with_maps(%given, %count, %sources, %number)",
        "  : (!llvm.ptr, i32, !llvm.ptr, i32) -> !llvm.ptr",
    ]
