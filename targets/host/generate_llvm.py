# SPDX-License-Identifier: Apache-2.0
"""Machine code from the llvm dialect, by LLVM in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine, compile_ir
from xtc.interfaces.target import BuildRequest
from xtc_targets.host import pool_library
from xtc_targets.host.build import KERNELS, Code, toolchain
from xtc_targets.host.c_flags import machine_flags
from xtc_targets.host.description import HostDescription
from xtc_targets.host.external_code import external_objects
from xtc_targets.host.program_code import ProgramCode

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


@dataclass(frozen=True)
class LlvmGenerator:
    """LLVM at one optimization level for one machine; the rest as in HostOptions."""

    machine: Machine
    opt_level: int
    threads: int | None = None
    cpu: str | None = None
    features: str | None = None

    def generate(self, lowered: Operation, request: BuildRequest) -> Code:
        """The code, and the constants if there are any, as relocatable objects.

        Raises ToolError if parallel loops need a C compiler and it fails.
        """
        parts = request.parts
        if not isinstance(parts, ProgramCode):
            with self.program_code(request.entry) as code:
                return self._code(lowered, request, code)
        return self._code(lowered, request, parts)

    def _code(self, lowered: Operation, request: BuildRequest, parts: ProgramCode) -> Code:
        """The code of a program, some parts of which are already being compiled."""
        parts.define_once(lowered)
        parallel = parts.has_parallel_loops or pool_library.has_parallel_loops(lowered)
        beside = pool_library.files(self.machine) if parallel else {}
        return Code(
            self._objects(lowered, request.entry, parts),
            _returns_status(lowered, request.entry),
            sources=_recorded(lowered),
            beside=beside,
            externals=external_objects(lowered, self.machine, self._flags),
            constants=request.constants,
            arenas=_arena_bytes(lowered),
            vector_bits=HostDescription.of(self.machine).vector_bits,
        )

    def _objects(self, lowered: Operation, entry: str, parts: ProgramCode) -> tuple[bytes, ...]:
        """The objects; a large module for this machine is split into units for all cores."""
        from xtc.ir.llvm_units import llvm_units

        units = llvm_units(lowered, entry) if self.machine.is_host else [lowered]
        return tuple(parts.objects(list(map(_ir, units))))

    def program_code(self, entry: str) -> ProgramCode:
        """A generator of the object files of a program's parts."""
        return ProgramCode(
            partial(compile_ir, machine=self.machine, opt=self.opt_level, name=entry)
        )

    def text(self, lowered: Operation, request: BuildRequest) -> str:
        """The code as assembly."""
        ir, name = _ir(lowered), request.entry
        text = compile_ir(ir, self.machine, opt=self.opt_level, kind="assembly", name=name)
        return text.decode()

    @property
    def _flags(self) -> tuple[str, ...]:
        """The C compiler's flags for external functions."""
        return (f"-O{self.opt_level}", *machine_flags(self.machine, self.cpu, self.features))

    def toolchain(self) -> dict[str, str]:
        """The settings that determine the code."""
        return toolchain("llvm", self.machine, self.opt_level, self.threads)


def _recorded(lowered: Operation) -> dict[str, str]:
    """The list of recorded kernels, as a file; empty if the program does not record."""
    from xtc_targets.host.passes.record_kernels import recorded_kernels

    kernels = recorded_kernels(lowered)
    return {KERNELS: json.dumps(kernels)} if kernels else {}


def _arena_bytes(lowered: Operation) -> tuple[int, int] | None:
    from xtc_targets.host.passes.define_arenas import arena_bytes

    return arena_bytes(lowered)


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
