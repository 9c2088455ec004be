# SPDX-License-Identifier: Apache-2.0
"""export-entries: makes kernels in the llvm dialect entry points of a GPU module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.interfaces.target import kernel_symbol
from xtc.ir.attributes import CLUSTER
from xtc.ir.builders.tile import cluster_of
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    DictAttr,
    InsertionPoint,
    Module,
    Operation,
    StringAttr,
    UnitAttr,
)
from xtc.ir.partition import symbol_of
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._kernels import kernels, shape, shared_bytes
from xtc_targets.nvgpu.passes._launch_maps import MAP_ATTRIBUTES, launch_maps

_ARGUMENTS = ("i32", "i64", "f32", "f64", "!llvm.ptr", "!llvm.ptr<1>")


@dataclass(frozen=True)
class ExportEntries(Pass):
    """Mark kernels as entry points, and record their launch parameters.

    Before:
        llvm.func @f.nvgpu0.0(%a: !llvm.ptr<1>) attributes {nvgpu.grid = .., nvgpu.block = ..}
    After:
        llvm.func @f_nvgpu0_0(%a: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = ..}
        llvm.mlir.global constant @f_nvgpu0_0_launch(dense<[..]>) {addr_space = 4}

    The constant has the fields of `hw_shape` in `csrc/hw_device.h`: blocks, threads, bytes of
    dynamic shared memory and the number of parameters; for a kernel with tensor maps that launches
    encode, also their number. The sources of these maps are in another constant, `f_nvgpu0_0_maps`.
    """

    name: ClassVar[str] = "export-entries"

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in kernels(module):
                _export(module, kernel)


def _export(module: Operation, kernel: Operation) -> None:
    name = kernel_symbol(symbol_of(kernel))
    types = [str(argument.type) for argument in kernel.regions[0].blocks[0].arguments]
    if wrong := [type for type in types if type not in _ARGUMENTS]:
        raise CompileError(
            f"a parameter of kernel '{symbol_of(kernel)}' has the invalid type {wrong[0]}",
            where=str(kernel.location),
        )
    grid, block = shape(kernel)
    kernel.attributes["sym_name"] = StringAttr.get(name)
    kernel.attributes["nvvm.kernel"] = UnitAttr.get()
    kernel.attributes["nvvm.reqntid"] = Attribute.parse(f"array<i32: {_joined(block)}>")
    if CLUSTER in kernel.attributes:
        sizes = _joined(cluster_of(kernel))
        kernel.attributes["nvvm.cluster_dim"] = Attribute.parse(f"array<i32: {sizes}>")
    maps = launch_maps(kernel)
    words = [*grid, *block, shared_bytes(kernel), len(types) - len(maps), *[len(maps)] * bool(maps)]
    text = _constant(f"{name}_launch", words, "i32")
    if maps:
        text += _constant(f"{name}_maps", [word for each in maps for word in each], "i64")
        _pass_by_value(kernel, len(maps))
    with InsertionPoint(kernel):
        for op in Module.parse(text).body.operations:
            op.operation.clone()


def _constant(name: str, words: Sequence[int], type: str) -> str:
    count = len(words)
    return (
        f"llvm.mlir.global external constant @{name}(dense<[{_joined(words)}]> : "
        f"tensor<{count}x{type}>) {{addr_space = 4 : i32}} : !llvm.array<{count} x {type}>\n"
    )


def _pass_by_value(kernel: Operation, count: int) -> None:
    """Pass the last arguments, tensor maps, by value."""
    none = [DictAttr.get({})] * len(kernel.regions[0].blocks[0].arguments)
    given = (
        list(ArrayAttr(kernel.attributes["arg_attrs"]))
        if "arg_attrs" in kernel.attributes
        else none
    )
    maps = [Attribute.parse(MAP_ATTRIBUTES)] * count
    kernel.attributes["arg_attrs"] = ArrayAttr.get([*given[:-count], *maps])


def _joined(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
