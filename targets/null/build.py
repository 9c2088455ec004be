# SPDX-License-Identifier: Apache-2.0
"""Builds the device's image from the lowered module: a shared library for this processor."""

from __future__ import annotations

from pathlib import Path

from xtc.codegen.llvm import Machine, compile_ir, link_shared
from xtc.ir.llvm_ir import translate_to_llvm_ir
from xtc.ir.mlir import Operation


def write_image(lowered: Operation, folder: Path, stem: str) -> str:
    """Write the kernels' code; returns the file name. Raises ToolError if linking fails."""
    machine = Machine.host()
    code = compile_ir(translate_to_llvm_ir(lowered), machine, opt=3, name=stem)
    name = f"{stem}.so"
    link_shared((code,), folder / name, machine)
    return name


def image_text(lowered: Operation) -> str:
    """The kernels' code as assembly."""
    text = compile_ir(translate_to_llvm_ir(lowered), Machine.host(), opt=3, kind="assembly")
    return text.decode()
