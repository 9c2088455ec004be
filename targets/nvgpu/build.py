# SPDX-License-Identifier: Apache-2.0
"""Builds device images from the lowered stage: a shared library for the simulator, PTX and machine
code for a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine, compile_ir, link_shared
from xtc_targets.nvgpu.options import NvgpuOptions
from xtc_targets.nvgpu.ptx import ptx
from xtc_targets.nvgpu.toolkit import fat_binary, find, found, version

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


def build_image(lowered: Operation, options: NvgpuOptions, folder: Path, stem: str) -> str:
    """Write the device image into `folder` and return its file name.

    The image is `<stem>.so` for the simulator, which resolves the functions of cuda_sim.h when it
    loads the file. For a GPU it is `<stem>.ptx`, or `<stem>.fatbin` with the same PTX and machine
    code for `options.cubins`. Raises CompileError if code generation fails or NVIDIA's assembler
    rejects the code, and ToolError if linking fails or a required assembler is missing.
    """
    if options.platform == "hw":
        return _gpu_image(ptx(lowered, options), options, folder, stem)
    machine, name = Machine.host(), f"{stem}.so"
    code = compile_ir(_ir(lowered), machine, opt=options.opt_level, name=stem)
    link_shared([code], folder / name, machine)
    return name


def code(lowered: Operation, options: NvgpuOptions, name: str) -> str:
    """The `code` stage as text: PTX, or the assembly of the machine that runs the simulator."""
    if options.platform == "hw":
        return ptx(lowered, options)
    machine, opt = Machine.host(), options.opt_level
    return compile_ir(_ir(lowered), machine, opt=opt, kind="assembly", name=name).decode()


def toolchain(options: NvgpuOptions) -> dict[str, str]:
    """The settings that determine the code; `NvgpuDevice.check_code` compares them."""
    machine = {
        "arch": options.arch,
        "platform": options.platform,
        "block_threads": str(options.block_threads),
        "opt_level": str(options.opt_level),
        "tf32": str(options.tf32),
    }
    if options.platform == "hw":
        return {**machine, **_assembler(options)}
    host = Machine.host()
    return {**machine, "triple": host.triple, "cpu": host.cpu, "features": host.features}


def _gpu_image(text: str, options: NvgpuOptions, folder: Path, stem: str) -> str:
    chips = _chips(options)
    name = f"{stem}.fatbin" if chips else f"{stem}.ptx"
    if chips:
        fat_binary(text, options.arch, chips, folder / name)
    else:
        (folder / name).write_text(text)
    return name


def _chips(options: NvgpuOptions) -> tuple[str, ...]:
    if options.cubins == "auto":
        return (options.arch,) if find("ptxas") and find("fatbinary") else ()
    return () if options.cubins == "none" else tuple(dict.fromkeys(options.cubins))


def _assembler(options: NvgpuOptions) -> dict[str, str]:
    chips = _chips(options)
    if not chips:
        return {"cubins": "none"}
    ptxas = found("ptxas", f"generating machine code for {chips[0]}")
    return {"cubins": " ".join(chips), "assembler": version(ptxas)}


def _ir(lowered: Operation) -> str:
    from xtc.ir.llvm_ir import translate_to_llvm_ir

    return translate_to_llvm_ir(lowered)
