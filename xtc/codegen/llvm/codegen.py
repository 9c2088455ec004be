# SPDX-License-Identifier: Apache-2.0
"""Compiles LLVM IR to optimized IR, assembly or an object file, in this process."""

from __future__ import annotations

from xtc.codegen.llvm.capi import llvm, take_string
from xtc.codegen.llvm.compilation import Kind, compilation
from xtc.codegen.llvm.fatal import guarded
from xtc.codegen.llvm.machine import Machine
from xtc.core.errors import UserError, did_you_mean

_KINDS = ("object", "assembly")


def compile_ir(
    ir: str | bytes,
    machine: Machine,
    *,
    opt: int = 3,
    kind: Kind = "object",
    name: str = "module",
    static: bool = False,
) -> bytes:
    """The machine code of a module; the same bytes for the same input.

    Args:
        ir: LLVM IR text or bitcode; its triple and data layout are replaced by the machine's.
        machine: the machine to generate code for.
        opt: the level of LLVM's optimization pipeline and code generator, 0 to 3.
        kind: an object file or assembly text.
        name: the name of the module in errors.
        static: whether the code is linked at fixed addresses; else it is position-independent.

    Raises:
        UserError: an unknown machine, level or kind, or a kind that the machine lacks.
        CompileError: LLVM rejects the IR; with its diagnostics.
    """
    if kind not in _KINDS:
        raise UserError(f"unknown kind of code '{kind}'", hints=did_you_mean(kind, _KINDS))

    def compile_module() -> bytes:
        with compilation(machine, opt, name, static=static) as unit:
            module = unit.parse(_encoded(ir))
            unit.optimize(module)
            return unit.emit(module, kind)

    return guarded(compile_module, f"'{name}' ({machine.triple})")


def optimize_ir(ir: str | bytes, machine: Machine, opt: int = 3) -> str:
    """The text of the optimized IR from which `compile_ir` generates code."""

    def optimize_module() -> str:
        with compilation(machine, opt, "module") as unit:
            module = unit.parse(_encoded(ir))
            unit.optimize(module)
            return take_string(llvm().LLVMPrintModuleToString(module))

    return guarded(optimize_module, f"the module ({machine.triple})")


def _encoded(ir: str | bytes) -> bytes:
    return ir.encode() if isinstance(ir, str) else ir
