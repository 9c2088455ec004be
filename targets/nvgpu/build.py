# SPDX-License-Identifier: Apache-2.0
"""From the lowered stage to a device image: for the simulator, a shared library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xtc.core.errors import CompileError
from xtc.core.llvm import Machine, compile_ir, link_shared
from xtc_targets.nvgpu.options import NvgpuOptions

if TYPE_CHECKING:
    from xtc.core.mlir import Operation


def build_image(lowered: Operation, options: NvgpuOptions, folder: Path, stem: str) -> str:
    """Write the device image into `folder`; returns its file's name, `<stem>.so`.

    The calls of cuda_sim.h stay open until the simulator loads it. Raises CompileError for a
    platform that no code is generated for yet, ToolError where linking fails.
    """
    _require_simulator(options)
    machine, name = Machine.host(), f"{stem}.so"
    code = compile_ir(_ir(lowered), machine, opt=options.opt_level, name=stem)
    link_shared([code], folder / name, machine)
    return name


def code(lowered: Operation, options: NvgpuOptions, name: str) -> str:
    """The `code` stage as text: the assembly of the machine that simulates."""
    _require_simulator(options)
    machine, opt = Machine.host(), options.opt_level
    return compile_ir(_ir(lowered), machine, opt=opt, kind="assembly", name=name).decode()


def toolchain(options: NvgpuOptions) -> dict[str, str]:
    """What shapes the code; `NvgpuDevice.check_code` reads the machine's part."""
    host = Machine.host()
    return {
        "arch": options.arch,
        "platform": options.platform,
        "triple": host.triple,
        "cpu": host.cpu,
        "features": host.features,
        "opt_level": str(options.opt_level),
    }


def _require_simulator(options: NvgpuOptions) -> None:
    if options.platform != "sim":
        raise CompileError(
            f"no code is generated for platform '{options.platform}' yet",
            hints=["compile for platform 'sim'"],
        )


def _ir(lowered: Operation) -> str:
    from xtc.core.mlir import translate_to_llvm_ir

    return translate_to_llvm_ir(lowered)
