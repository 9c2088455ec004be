# SPDX-License-Identifier: Apache-2.0
"""Compiles device code through C: with Kalray's compiler, or for the simulator."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.codegen.llvm import Machine, compile_shared
from xtc.system import tool
from xtc_targets.mppa import vendor_commands
from xtc_targets.mppa.options import MppaOptions
from xtc_targets.mppa.simulator import OWN_CSRC

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

HEADERS = ("dev.h", "uk_mma.h")
HAL, SCRIPT = "dev_kvx.c", "dev_kvx.ld"
# The printed C relies on contracted multiply-adds, wrapping integers, and arithmetic without side
# effects.
SEMANTICS = ("-ffp-contract=fast", "-fwrapv", "-fno-trapping-math", "-fno-math-errno")


def source(lowered: Operation) -> str:
    """The C file."""
    from xtc_targets.mppa.device_c import device_source

    return device_source(lowered)


def build_for_simulator(code: Path, options: MppaOptions, output: Path) -> None:
    """Compile a C file with the compiler that XTC_CC names. Raises ToolError if it fails."""
    watched = ("-DDEV_WATCHED",) if options.sim_checks else ()
    flags = ("-std=c11", f"-O{options.opt_level}", *SEMANTICS, *watched, f"-I{OWN_CSRC}")
    compile_shared([code], output, Machine.host(), flags=flags)


def build_for_device(code: Path, options: MppaOptions, output: Path) -> None:
    """Compile and link a C file, and the device's side of dev.h, with Kalray's compiler.

    Experimental: the commands were compared with public uses and never run. Headers and objects are
    written to the same folder. Raises DeviceNotFound if the toolchain is missing, and ToolError if
    it fails.
    """
    toolchain = options.toolchain()
    folder = code.parent
    for name in (*HEADERS, HAL, SCRIPT):
        shutil.copyfile(OWN_CSRC / name, folder / name)
    objects = []
    for directory in (code, folder / HAL):
        objects.append(directory.with_suffix(".o"))
        _run(vendor_commands.compile_kernel(toolchain, options.arch, directory, objects[-1]))
    script = folder / SCRIPT
    _run(vendor_commands.link_kernels(toolchain, options.arch, objects, script, output))


def vendor(options: MppaOptions) -> str:
    """The path of the vendor's compiler. Raises DeviceNotFound if the toolchain is missing."""
    return vendor_commands.program(options.toolchain(), "kvx-cos-gcc")


def _run(words: vendor_commands.Words) -> None:
    what = f"compiling device code by {Path(words[0]).name}"
    tool.run(words, what=what, install_hint="install Kalray's toolchain completely")
