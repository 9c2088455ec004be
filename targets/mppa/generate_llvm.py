# SPDX-License-Identifier: Apache-2.0
"""Compiles device code for the simulator, from the llvm dialect to code of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine, compile_ir, link_shared
from xtc_targets.mppa.options import MppaOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


def build(lowered: Operation, options: MppaOptions, output: Path) -> None:
    """Write a shared library; the simulator resolves its calls of dev.h when it loads it."""
    machine = Machine.host()
    code = compile_ir(_ir(lowered), machine, opt=options.opt_level, name=output.stem)
    link_shared([code], output, machine)


def text(lowered: Operation, options: MppaOptions, name: str) -> str:
    """The code as assembly."""
    machine, opt = Machine.host(), options.opt_level
    return compile_ir(_ir(lowered), machine, opt=opt, kind="assembly", name=name).decode()


def _ir(lowered: Operation) -> str:
    from xtc.ir.llvm_ir import translate_to_llvm_ir

    return translate_to_llvm_ir(lowered)
