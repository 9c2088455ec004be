# SPDX-License-Identifier: Apache-2.0
"""separate-results: copies buffers that a function would return twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import InsertionPoint, Operation, Value, memref
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class SeparateResults(Pass):
    """Return a copy if a buffer is returned a second time.

    Before:
        return %a, %a : memref<4xf32>, memref<4xf32>
    After:
        %b = memref.alloc() : memref<4xf32>
        memref.copy %a, %b : memref<4xf32> to memref<4xf32>
        return %a, %b : memref<4xf32>, memref<4xf32>

    Two results of a graph may turn out to be the same tensor, for example after casts that cancel
    out, but the caller has a buffer for each.
    """

    name: ClassVar[str] = "separate-results"

    def run(self, module: Operation) -> None:
        for function in top_level(module):
            if function.name == "func.func" and function.regions[0].blocks:
                operations = function.regions[0].blocks[0].operations
                with module.context:
                    _separate(operations[len(operations) - 1].operation)


def _separate(end: Operation) -> None:
    seen: list[Value] = []
    for number, value in enumerate(list(end.operands)):
        if value in seen:
            end.operands[number] = _copied(value, end)
        seen.append(value)


def _copied(value: Value, end: Operation) -> Value:
    ip = InsertionPoint(end)
    with end.location:
        copy = memref.alloc(value.type, [], [], ip=ip)
        memref.copy(value, copy, ip=ip)
    return copy
