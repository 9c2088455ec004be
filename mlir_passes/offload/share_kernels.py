# SPDX-License-Identifier: Apache-2.0
"""share-kernels: lets equal functions of a device be one function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.equal_functions import text_without_names
from xtc.ir.attributes import NODES
from xtc.ir.mlir import FlatSymbolRefAttr, Operation, all_operations
from xtc.ir.partition import device_of, symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.offload._device_functions import callee


@dataclass(frozen=True)
class ShareKernels(Pass):
    """Erase a device function that equals an earlier one, and launch the earlier one instead.

    Before:
        module @npu0 { func.func @f.npu0.0(%a, %r) { ... } ; func.func @f.npu0.1(%a, %r) { ... } }
        func.func private @f.npu0.0(...) attributes {xtc.nodes = ["y0"]}
        func.func private @f.npu0.1(...) attributes {xtc.nodes = ["y1"]}
        call @f.npu0.0(%x, %y) ; call @f.npu0.1(%y, %z)
    After:
        module @npu0 { func.func @f.npu0.0(%a, %r) { ... } }
        func.func private @f.npu0.0(...) attributes {xtc.nodes = ["y0"]}
        call @f.npu0.0(%x, %y) ; call @f.npu0.0(%y, %z) {xtc.nodes = ["y1"]}

    Networks have tens of equal layers with different weights, which are arguments. The passes and
    the code generator of the device work on each distinct kernel once. The calls name the graph
    nodes, as profiles and the messages of faults do.
    """

    name: ClassVar[str] = "share-kernels"

    def run(self, module: Operation) -> None:
        parts = [op for op in top_level(module) if op.name == "builtin.module" and device_of(op)]
        shared = {old: new for part in parts for old, new in _share(part).items()}
        declared = {
            symbol_of(op): op
            for op in top_level(module)
            if op.name == "func.func" and device_of(op) and symbol_of(op) in shared
        }
        with module.context:
            for function in top_level(module):
                if function.name == "func.func" and device_of(function) is None:
                    _redirect(function, shared, declared)
        for op in declared.values():
            op.erase()


def _share(part: Operation) -> dict[str, str]:
    """Erase the functions that equal earlier ones; returns the earlier one of each."""
    first: dict[str, str] = {}
    shared: dict[str, str] = {}
    for op in top_level(part):
        if op.name == "func.func" and op.regions[0].blocks:
            symbol = symbol_of(op)
            known = first.setdefault(text_without_names(op), symbol)
            if known != symbol:
                shared[symbol] = known
                op.erase()
    return shared


def _redirect(
    function: Operation, shared: Mapping[str, str], declared: Mapping[str, Operation]
) -> None:
    """Call the functions that remain, and name the nodes of those that were declared."""
    for op in all_operations(function):
        symbol = callee(op) or ""
        if symbol in shared:
            nodes = declared[symbol].attributes
            if NODES in nodes:
                op.attributes[NODES] = nodes[NODES]
            op.attributes["callee"] = FlatSymbolRefAttr.get(shared[symbol])
