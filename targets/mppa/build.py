# SPDX-License-Identifier: Apache-2.0
"""From the lowered stage to a device image: the shared library that a device loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine, linker_version
from xtc_targets.mppa import generate_c, generate_llvm
from xtc_targets.mppa.options import MppaOptions

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


def build_image(lowered: Operation, options: MppaOptions, folder: Path, stem: str) -> str:
    """Write the device image into `folder`; returns its file's name, `<stem>.so`.

    Code that is made by way of C leaves that beside it, as `<stem>.c`. Raises CompileError for
    what cannot be expressed, ToolError where a compiler or linker fails, DeviceNotFound where
    Kalray's toolchain is needed and not found.
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
    """The `code` stage as text: C, or the assembly of the machine that simulates."""
    if options.by_c:
        return generate_c.source(lowered)
    return generate_llvm.text(lowered, options, name)


def toolchain(options: MppaOptions) -> dict[str, str]:
    """What shapes the code; `MppaDevice.check_code` reads the machine's part."""
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
