# SPDX-License-Identifier: Apache-2.0
"""From the lowered stage to a device image: a shared library for the simulator, PTX for a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xtc.core.llvm import Machine, compile_ir, link_shared
from xtc_targets.nvgpu.options import NvgpuOptions
from xtc_targets.nvgpu.ptx import ptx

if TYPE_CHECKING:
    from xtc.core.mlir import Operation


def build_image(lowered: Operation, options: NvgpuOptions, folder: Path, stem: str) -> str:
    """Write the device image into `folder`; returns its file's name, `<stem>.so` or `<stem>.ptx`.

    The calls of cuda_sim.h stay open until the simulator loads it. Raises CompileError where no
    code can be generated, ToolError where linking fails.
    """
    if options.platform == "hw":
        (folder / f"{stem}.ptx").write_text(ptx(lowered, options))
        return f"{stem}.ptx"
    machine, name = Machine.host(), f"{stem}.so"
    code = compile_ir(_ir(lowered), machine, opt=options.opt_level, name=stem)
    link_shared([code], folder / name, machine)
    return name


def code(lowered: Operation, options: NvgpuOptions, name: str) -> str:
    """The `code` stage as text: PTX, or the assembly of the machine that simulates."""
    if options.platform == "hw":
        return ptx(lowered, options)
    machine, opt = Machine.host(), options.opt_level
    return compile_ir(_ir(lowered), machine, opt=opt, kind="assembly", name=name).decode()


def toolchain(options: NvgpuOptions) -> dict[str, str]:
    """What shapes the code; `NvgpuDevice.check_code` reads the machine's part."""
    machine = {
        "arch": options.arch,
        "platform": options.platform,
        "block_threads": str(options.block_threads),
        "opt_level": str(options.opt_level),
        "tf32": str(options.tf32),
    }
    if options.platform == "hw":
        return machine
    host = Machine.host()
    return {**machine, "triple": host.triple, "cpu": host.cpu, "features": host.features}


def _ir(lowered: Operation) -> str:
    from xtc.core.mlir import translate_to_llvm_ir

    return translate_to_llvm_ir(lowered)
