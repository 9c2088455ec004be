# SPDX-License-Identifier: Apache-2.0
"""separate-devices: the functions of each device move into a nested module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.node_names import nodes_of
from xtc.ir.attributes import DEVICE, NODES
from xtc.ir.builders.functions import declaration
from xtc.ir.mlir import (
    ArrayAttr,
    FlatSymbolRefAttr,
    FunctionType,
    InsertionPoint,
    Location,
    Module,
    Operation,
    StringAttr,
    TypeAttr,
    all_operations,
)
from xtc.ir.partition import device_of, symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.tensor._meshes import GRID

_COMPUTING = ("linalg.", "vector.", "memref.store", "memref.copy")


@dataclass(frozen=True)
class SeparateDevices(Pass):
    """Move device functions into one module per device, and leave declarations in their place.

    Before:
        func.func private @f.npu0.0(%a: memref<4xf32, 1>) attributes {xtc.device = "npu0"} { ... }
        func.func @f(...) { ... call @f.npu0.0(%0) {xtc.device = "npu0"} ... }
    After:
        module @npu0 attributes {xtc.device = "npu0"} { func.func @f.npu0.0(...) { ... } }
        func.func private @f.npu0.0(memref<4xf32, 1>) attributes {xtc.device = "npu0"}
        func.func @f(...) { ... call @f.npu0.0(%0) {xtc.device = "npu0"} ... }

    The passes of each target then see only the code of their device. A device's meshes move with
    it. The declarations name, in `xtc.nodes`, the graph nodes that the functions compute.
    """

    name: ClassVar[str] = "separate-devices"

    def run(self, module: Operation) -> None:
        functions = [op for op in top_level(module) if op.name == "func.func"]
        meshes = [op for op in top_level(module) if op.name == GRID]
        devices = sorted({name for op in functions if (name := device_of(op)) is not None})
        with module.context, Location.unknown():
            for device in devices:
                inner = _new_module(module, device)
                for op in functions:
                    if device_of(op) == device:
                        _declare(op)
                        op.detach_from_parent()
                        del op.attributes["sym_visibility"]
                        inner.regions[0].blocks[0].append(op)
                for mesh in reversed(meshes):
                    if device_of(mesh) == device:
                        mesh.move_before(inner.regions[0].blocks[0].operations[0].operation)
                _copy_constants(module, inner)


def _new_module(module: Operation, device: str) -> Operation:
    name = StringAttr.get(device)
    with InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        inner = Module.parse("module {}").operation.clone().operation
    inner.attributes["sym_name"] = inner.attributes[DEVICE] = name
    return inner


def _copy_constants(module: Operation, inner: Operation) -> None:
    """Copy small constants, whose values are in the IR, to the module that uses them."""
    used = {
        FlatSymbolRefAttr(op.attributes["name"]).value
        for op in all_operations(inner)
        if op.name == "memref.get_global"
    }
    for op in top_level(module):
        if op.name == "memref.global" and symbol_of(op) in used:
            op.clone(InsertionPoint.at_block_begin(inner.regions[0].blocks[0]))


def _declare(function: Operation) -> None:
    kind = FunctionType(TypeAttr(function.attributes["function_type"]).value)
    ip = InsertionPoint(function)
    result = declaration(symbol_of(function), kind.inputs, kind.results, ip=ip)
    result.attributes[DEVICE] = function.attributes[DEVICE]
    result.attributes[NODES] = ArrayAttr.get(list(map(StringAttr.get, _nodes(function))))


def _nodes(function: Operation) -> list[str]:
    computing = (op for op in all_operations(function) if op.name.startswith(_COMPUTING))
    return list(dict.fromkeys(name for op in computing for name in nodes_of(op) if name))
