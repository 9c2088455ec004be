# SPDX-License-Identifier: Apache-2.0
"""Machine code from the llvm dialect, by LLVM in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine, compile_ir, data_object
from xtc.interfaces.target import BuildRequest
from xtc_targets.host import pool_library
from xtc_targets.host.build import Code, toolchain
from xtc_targets.host.c_flags import machine_flags
from xtc_targets.host.external_code import external_objects

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


@dataclass(frozen=True)
class LlvmGenerator:
    """LLVM at one optimisation level for one machine; the rest as in HostOptions."""

    machine: Machine
    opt_level: int
    threads: int | None = None
    cpu: str | None = None
    features: str | None = None

    def generate(self, lowered: Operation, request: BuildRequest) -> Code:
        """The code, and the constants where there are any, as relocatable objects.

        Raises ToolError where parallel loops need a C compiler that fails.
        """
        code = compile_ir(_ir(lowered), self.machine, opt=self.opt_level, name=request.entry)
        objects = [code]
        if request.constants:
            objects.append(data_object(request.constants, self.machine))
        parallel = pool_library.has_parallel_loops(lowered)
        beside = pool_library.files(self.machine) if parallel else {}
        return Code(
            tuple(objects),
            _returns_status(lowered, request.entry),
            beside=beside,
            externals=external_objects(lowered, self.machine, self._flags),
        )

    def text(self, lowered: Operation, request: BuildRequest) -> str:
        """The code as assembly."""
        ir, name = _ir(lowered), request.entry
        text = compile_ir(ir, self.machine, opt=self.opt_level, kind="assembly", name=name)
        return text.decode()

    @property
    def _flags(self) -> tuple[str, ...]:
        """The C compiler's, for functions of the user's."""
        return (f"-O{self.opt_level}", *machine_flags(self.machine, self.cpu, self.features))

    def toolchain(self) -> dict[str, str]:
        """What shapes the code."""
        return toolchain("llvm", self.machine, self.opt_level, self.threads)


def _returns_status(lowered: Operation, entry: str) -> bool:
    """Whether check-allocations gave the entry a status to return."""
    found = (op.operation for op in lowered.regions[0].blocks[0].operations)
    types = [
        str(op.attributes["function_type"])
        for op in found
        if op.name == "llvm.func" and op.attributes["sym_name"].value == entry
    ]
    return any(type.startswith("!llvm.func<i32 ") for type in types)


def _ir(lowered: Operation) -> str:
    from xtc.ir.llvm_ir import translate_to_llvm_ir

    return translate_to_llvm_ir(lowered)
