# SPDX-License-Identifier: Apache-2.0
"""Generates machine code through C, with the compiler that XTC_CC names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine
from xtc.core.errors import CompileError
from xtc.interfaces.target import BuildRequest
from xtc.system.c_compiler import CCompiler
from xtc_targets.host import pool_library
from xtc_targets.host.build import Code, toolchain
from xtc_targets.host.c_flags import machine_flags
from xtc_targets.host.external_code import external_objects

if TYPE_CHECKING:
    from xtc.codegen.c import CSource
    from xtc.ir.mlir import Operation

SOURCE = "module.c"
# The printed C relies on contracted multiply-adds, wrapping integers, and arithmetic without side
# effects. -fno-trapping-math and -fno-math-errno give up nothing else.
SEMANTICS = ("-ffp-contract=fast", "-fwrapv", "-fno-trapping-math", "-fno-math-errno")
# GCC warns that vectors wider than the machine's registers are passed differently from one version
# to another. Here only static inline functions pass vectors.
WARNINGS = ("-Wno-psabi",)


@dataclass(frozen=True)
class CGenerator:
    """A C compiler at one optimization level for one machine.

    `cpu` and `features` are the user's options, None if not set; `threads` is as in HostOptions.
    """

    machine: Machine
    opt_level: int
    cpu: str | None = None
    features: str | None = None
    threads: int | None = 1

    def generate(self, lowered: Operation, request: BuildRequest) -> Code:
        """The code, and the constants if there are any, as relocatable objects.

        Raises CompileError for code that C cannot express, and ToolError if the compiler fails.
        """
        source = _source(lowered, request)
        compiler = CCompiler.configured()
        compiler.check_triple(self.machine.triple)
        code = compiler.object_code(source.text, self.flags, request.entry)
        beside = pool_library.files(self.machine) if _is_parallel(lowered) else {}
        return Code(
            (code,),
            request.entry in source.fallible,
            {SOURCE: source.text},
            beside,
            external_objects(lowered, self.machine, self._external_flags),
            {source.symbols[symbol]: held for symbol, held in request.constants.items()},
        )

    def text(self, lowered: Operation, request: BuildRequest) -> str:
        """The C source."""
        return _source(lowered, request).text

    def toolchain(self) -> dict[str, str]:
        """The settings that determine the code, and the version that the compiler reports."""
        compiler = CCompiler.configured()
        return {
            **toolchain("c", self.machine, self.opt_level, self.threads),
            "compiler": compiler.path,
            "compiler_version": compiler.version,
            "flags": " ".join(self.flags),
        }

    @property
    def _external_flags(self) -> tuple[str, ...]:
        """The flags for external functions, which choose their C standard themselves."""
        return (f"-O{self.opt_level}", *machine_flags(self.machine, self.cpu, self.features))

    @property
    def flags(self) -> tuple[str, ...]:
        """The compiler's flags, except those that name files."""
        machine = machine_flags(self.machine, self.cpu, self.features)
        return ("-std=c11", f"-O{self.opt_level}", *machine, *SEMANTICS, *WARNINGS, "-fPIC")


def _source(lowered: Operation, request: BuildRequest) -> CSource:
    """The C file. Raises CompileError, and UserError for a name that is reserved in C."""
    from xtc.codegen.c import c_source
    from xtc_targets.host import c_parallel

    names = [argument.name for argument in request.arguments]
    try:
        return c_source(lowered, {request.entry: names}, c_parallel.RULES, c_parallel.RESERVED)
    except CompileError as error:
        error.hints = (*error.hints, "use codegen='llvm', which supports more than C can express")
        raise


def _is_parallel(lowered: Operation) -> bool:
    from xtc_targets.host import c_parallel

    return c_parallel.is_parallel(lowered)
