# SPDX-License-Identifier: Apache-2.0
"""Command lines of Kalray's tools, and settings of its host library; nothing is run here.

Experimental: written from public sources (the options of mlir backends that use the tools, and
github.com/kalray/gcc, `libgomp/plugin/plugin-kvx.c`), never run against the vendor's tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xtc_targets.mppa.options import MppaOptions

Words = tuple[str, ...]

RENDEZVOUS = "mymppa"
"""The folder, in the work folder, through which a simulator and the host library communicate."""

HOST_LIBRARIES = ("mppa_offload_host", "mopd", "mppa_rproc_host", "pthread")
"""The libraries in `lib` for programs that use the vendor's offloading."""


def compile_kernel(toolchain: Path, arch: str, source: Path, output: Path) -> Words:
    """Compiles C for the device to an object file."""
    flags = ("-O2", "-fPIC", f"-march={arch}", "-DBUILD_ID=0")
    limits = ("-fvect-cost-model=cheap", "-fstack-limit-register=sr")
    files = ("-c", str(source), "-o", str(output))
    return (program(toolchain, "kvx-cos-gcc"), *flags, *limits, *files)


def link_kernels(
    toolchain: Path, arch: str, objects: Sequence[Path], script: Path, output: Path
) -> Words:
    """Links object files to the shared library that the device loads; `script` adds sections."""
    flags = ("-shared", "-fPIC", f"-march={arch}", f"-Wl,-soname={output.name}", f"-Wl,-T,{script}")
    names = map(str, objects)
    return (program(toolchain, "kvx-cos-gcc"), *flags, *names, "-o", str(output))


def list_boards(toolchain: Path) -> Words:
    """Lists the boards in this machine."""
    return (program(toolchain, "kvx-board-diag"), "--list-board")


def start_simulator(options: MppaOptions, toolchain: Path, work_dir: Path) -> Words | None:
    """Starts the simulator process that a platform needs, or None; the host ends it."""
    folder = work_dir / RENDEZVOUS
    if options.platform == "iss":
        flags = ("--disable-cache", f"--march={options.arch}", "--no-load-elf")
        server = ("--sim-server=SOCKET", "--mmap", f"--mppa-wdir={folder}")
        return (program(toolchain, "kvx-cluster"), *flags, *server)
    if options.platform == "qemu":
        bridge = program(toolchain, "kvx-qemu-offload-bridge")
        return (bridge, "--arch", options.arch, "--work-dir", str(folder))
    return None


def offload_environment(options: MppaOptions, work_dir: Path) -> dict[str, str]:
    """Environment variables for the vendor's host library; "" for those to unset."""
    simulated = options.platform in ("iss", "qemu")
    return {
        "OMP_MPPA_FIRMWARE_NAME": options.firmware,
        "MLIR_MPPA_FIRMWARE_NAME": options.firmware,
        "MPPA_RPROC_PLATFORM_MODE": "sim" if simulated else "",
        "MPPA_RPROC_SIM_PATH": str(work_dir / RENDEZVOUS) if simulated else "",
    }


def firmware_path(options: MppaOptions, toolchain: Path) -> str:
    """The firmware for the host library: a path for simulators, a name for hardware."""
    version = ("kv3-2",) if options.arch == "kv3-2" else ()
    if options.platform == "hw":
        return "/".join(("kalray", "opencl", *version, options.firmware))
    return str(toolchain.joinpath("share", "pocl", "linux_pcie", *version, options.firmware))


def program(toolchain: Path, name: str) -> str:
    """The path of a program of the toolchain."""
    return str(toolchain / "bin" / name)
