# SPDX-License-Identifier: Apache-2.0
"""keep-arenas: keeps the arenas of a module's calls for later calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.views import root
from xtc.ir.attributes import ARENA
from xtc.ir.builders.functions import call, declaration
from xtc.ir.mlir import InsertionPoint, Operation, all_operations
from xtc.ir.partition import symbol_of
from xtc.ir.passes import Pass

TAKE = ".arena.take"
GIVE = ".arena.give"
"""The suffixes of the functions that define-arenas defines."""


@dataclass(frozen=True)
class KeepArenas(Pass):
    """Reuse the arenas of earlier calls, instead of an allocation per call.

    Before:
        %arena = memref.alloc() {xtc.arena = array<i64: 512, 512>} : memref<512xi8>
        memref.dealloc %arena
    After:
        %arena = call @net.arena.take() : () -> memref<512xi8>
        call @net.arena.give(%arena)

    The functions are only declared here; `define-arenas` defines them in the llvm dialect. The pass
    runs after check-allocations, which recognizes allocations by their names.
    """

    name: ClassVar[str] = "keep-arenas"

    def run(self, module: Operation) -> None:
        for function in [op.operation for op in module.regions[0].blocks[0].operations]:
            allocations = [op for op in all_operations(function) if op.name == "memref.alloc"]
            arenas = [op for op in allocations if ARENA in op.attributes]
            for arena in arenas:
                with module.context, arena.location:
                    _keep(arena, function)


def _keep(arena: Operation, function: Operation) -> None:
    buffer, name = arena.results[0], symbol_of(function)
    freed = [
        op
        for op in all_operations(function)
        if op.name == "memref.dealloc" and root(op.operands[0]) == buffer
    ]
    with InsertionPoint(function):
        take = declaration(f"{name}{TAKE}", [], [buffer.type])
        declaration(f"{name}{GIVE}", [buffer.type])
    take.attributes[ARENA] = arena.attributes[ARENA]
    for op in freed:
        call(f"{name}{GIVE}", [op.operands[0]], ip=InsertionPoint(op))
        op.erase()
    taken = call(f"{name}{TAKE}", [], [buffer.type], ip=InsertionPoint(arena))
    buffer.replace_all_uses_with(taken.results[0])
    arena.erase()
