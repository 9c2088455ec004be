# SPDX-License-Identifier: Apache-2.0
"""Builds device images, which are shared libraries, from the lowered stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine, linker_version
from xtc_targets.mppa import generate_c, generate_llvm
from xtc_targets.mppa.options import MppaOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


def build_image(lowered: Operation, options: MppaOptions, folder: Path, stem: str) -> str:
    """Write the device image into `folder`; returns its file name, `<stem>.so`.

    Code generated through C leaves the C file beside it, as `<stem>.c`. Raises CompileError for
    code that cannot be expressed, ToolError if a compiler or linker fails, and DeviceNotFound if
    Kalray's toolchain is needed and missing.
    """
    name = f"{stem}.so"
    if not options.by_c:
        generate_llvm.build(lowered, options, folder / name)
        return name
    source = folder / f"{stem}.c"
    source.write_text(generate_c.source(lowered))
    if options.platform == "sim":
        generate_c.build_for_simulator(source, options, folder / name)
    else:
        generate_c.build_for_device(source, options, folder / name)
    return name


def code(lowered: Operation, options: MppaOptions, name: str) -> str:
    """The `code` stage as text: C, or the assembly of the machine that runs the simulator."""
    if options.by_c:
        return generate_c.source(lowered)
    return generate_llvm.text(lowered, options, name)


def toolchain(options: MppaOptions) -> dict[str, str]:
    """The settings that determine the code; `MppaDevice.check_code` compares the machine's."""
    host = Machine.host()
    return {
        "arch": options.arch,
        "clusters": str(options.cluster_count),
        "pes": str(options.pe_count),
        "platform": options.platform,
        "codegen": "c" if options.by_c else "llvm",
        "triple": host.triple,
        "cpu": host.cpu,
        "features": host.features,
        "opt_level": str(options.opt_level),
        "compiler": linker_version() if options.platform == "sim" else generate_c.vendor(options),
    }
