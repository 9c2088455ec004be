# SPDX-License-Identifier: Apache-2.0
"""Calls of device functions, before they have buffers on devices."""

from __future__ import annotations

from collections.abc import Mapping

from xtc.ir.analysis.effects import written_memrefs
from xtc.ir.attributes import RESULTS
from xtc.ir.mlir import FlatSymbolRefAttr, IntegerAttr, Operation, Value
from xtc.ir.partition import device_of, symbol_of, top_level

Results = Mapping[str, int]
"""The number of results of each device function, by symbol; they are its last arguments."""


def device_results(module: Operation) -> Results:
    """The device functions of a module."""
    functions = [op for op in top_level(module) if op.name == "func.func"]
    return {symbol_of(op): result_count(op) for op in functions if device_of(op)}


def result_count(function: Operation) -> int:
    """The number of results of a device function; they are its last arguments."""
    return int(IntegerAttr(function.attributes[RESULTS]).value)


def callee(op: Operation) -> str | None:
    """The function that `op` calls; None for anything but a call."""
    if op.name != "func.call":
        return None
    return str(FlatSymbolRefAttr(op.attributes["callee"]).value)


def written_by(op: Operation, results: Results) -> list[Value]:
    """Memrefs that `op` may write; a device function writes only its results."""
    count = results.get(callee(op) or "")
    return written_memrefs(op) if count is None else list(op.operands)[-count:]
