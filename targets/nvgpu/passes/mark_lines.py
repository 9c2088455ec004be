# SPDX-License-Identifier: Apache-2.0
"""mark-lines: reports the user's line that a thread executes to the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders.functions import declare
from xtc.ir.builders.llvm import call, constant
from xtc.ir.builders.tile import location_text
from xtc.ir.mlir import (
    FlatSymbolRefAttr,
    InsertionPoint,
    IntegerAttr,
    Operation,
    all_operations,
)
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass

_LINE = "cuda_line"
_DECLARATION = f"llvm.func @{_LINE}(i32)"
_HARMLESS = (
    *("cuda_block_id", "cuda_thread_id", "cuda_grid_size", "cuda_shared"),
    *("cuda_next_barrier", "cuda_with_maps", "cuda_launch", "cuda_launch_independent"),
)
"""Calls that do not fail, or that threads do not make."""


@dataclass(frozen=True)
class MarkLines(Pass):
    """Number the user's lines, and call `cuda_line` with them before calls that may fail.

    Before:
        llvm.call @cuda_read(%a, %size) loc("kernel.py":7:9)
        llvm.call @cuda_read(%b, %size) loc("kernel.py":7:9)
    After:
        llvm.call @cuda_line(%1) loc("kernel.py":7:9)
        llvm.call @cuda_read(%a, %size) loc("kernel.py":7:9)
        llvm.call @cuda_read(%b, %size) loc("kernel.py":7:9)

    Numbers begin at 1, in the order of the code. `line_of` finds the line of a number.
    """

    name: ClassVar[str] = "mark-lines"

    def run(self, module: Operation) -> None:
        numbers: dict[str, int] = {}
        with module.context:
            declare(module, _DECLARATION)
            for function in top_level(module):
                for op, where in list(_first_calls(function)):
                    number = numbers.setdefault(where, len(numbers) + 1)
                    ip = InsertionPoint(op)
                    with op.location:
                        call(_LINE, [constant(number, ip)], [], ip)


def _first_calls(function: Operation) -> Iterator[tuple[Operation, str]]:
    """The calls in each block of a function that have another line than the one before."""
    for region in function.regions:
        for block in region.blocks:
            last = ""
            for op in [view.operation for view in block.operations]:
                if not _may_fail(op) or not op.location.is_a_file():
                    continue
                where = location_text(op.location)
                if where != last:
                    yield op, where
                last = where


def _may_fail(op: Operation) -> bool:
    if op.name != "llvm.call":
        return False
    callee = FlatSymbolRefAttr(op.attributes["callee"]).value if "callee" in op.attributes else ""
    return callee.startswith("cuda_") and callee not in _HARMLESS


def line_of(module: Operation, number: int) -> str:
    """`file:line:column` of a number, in a module that the pass has run on; "" if it has none."""
    for op in all_operations(module):
        if op.name != "llvm.call" or str(op.attributes.get("callee")) != f"@{_LINE}":
            continue
        if IntegerAttr(op.operands[0].owner.attributes["value"]).value == number:
            return location_text(op.location)
    return ""
