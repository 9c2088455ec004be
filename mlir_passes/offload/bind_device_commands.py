# SPDX-License-Identifier: Apache-2.0
"""bind-device-commands: calls the runtime's functions through a table in one variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.interfaces.offload import PROGRAM
from xtc.ir.mlir import InsertionPoint, Module, Operation
from xtc.ir.partition import symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.offload.lower_device_commands import SIGNATURES


@dataclass(frozen=True)
class BindDeviceCommands(Pass):
    """Define the functions `xtc_*`, in the llvm dialect, as calls through the variable
    `xtc.program`.

    Before:
        llvm.func @xtc_wait(i64) attributes {sym_visibility = "private"}
    After:
        llvm.func internal @xtc_wait(%arg0: i64) {
          %program = llvm.load (llvm.mlir.addressof @xtc.program) ; %call = llvm.load %program[8]
          llvm.call %call(%program, %arg0) ; llvm.return }

    The variable always exists. The loader sets it; `csrc/program.h` defines the table.
    """

    name: ClassVar[str] = "bind-device-commands"

    def run(self, module: Operation) -> None:
        declared = {
            symbol_of(op): op
            for op in top_level(module)
            if op.name == "llvm.func" and not op.regions[0].blocks
        }
        used = [name for name in SIGNATURES if name in declared]
        for name in used:
            declared[name].erase()
        text = "\n".join([_PROGRAM_TEXT, *(_definition(name) for name in used)])
        with module.context, InsertionPoint(module.regions[0].blocks[0]):
            for op in Module.parse(text).body.operations:
                op.operation.clone()


_PROGRAM_TEXT = f"""\
llvm.mlir.global external protected @{PROGRAM}() : !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}}"""


def _definition(name: str) -> str:
    takes, gives = SIGNATURES[name]
    words = [f"%word{n}" for n in range(takes)]
    given, types = ["%program", *words], ["!llvm.ptr", *["i64"] * takes]
    return "\n".join(
        [
            f"llvm.func internal @{name}({', '.join(f'{word}: i64' for word in words)})"
            f"{' -> i64' if gives else ''} {{",
            f"%variable = llvm.mlir.addressof @{PROGRAM} : !llvm.ptr",
            "%program = llvm.load %variable : !llvm.ptr -> !llvm.ptr",
            f"%place = llvm.getelementptr %program[{list(SIGNATURES).index(name)}] "
            ": (!llvm.ptr) -> !llvm.ptr, !llvm.ptr",
            "%function = llvm.load %place : !llvm.ptr -> !llvm.ptr",
            f"{'%result = ' if gives else ''}llvm.call %function({', '.join(given)})"
            f" : !llvm.ptr, ({', '.join(types)}) -> {'i64' if gives else '()'}",
            f"llvm.return{' %result : i64' if gives else ''}",
            "}",
        ]
    )
