# SPDX-License-Identifier: Apache-2.0
"""Compiles and links programs for DPUs, for the simulator."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from xtc.core import knobs
from xtc.core.errors import UserError
from xtc.system import tool
from xtc.system.cache import cache_key, configured_cache
from xtc.system.workspace import private_folder
from xtc_targets.upmem.description import DpuDescription, default_profile, profile_named
from xtc_targets.upmem.toolchain.clang import INSTALL_HINT, DpuClang
from xtc_targets.upmem.toolchain.command_line import MOST_TASKLETS, CommandLine
from xtc_targets.upmem.toolchain.elf import program_size
from xtc_targets.upmem.toolchain.library import OWN_CSRC, SHARED

DEVICE = OWN_CSRC / "device"
_MACHINE = (
    "--target=riscv32-unknown-none-elf",
    "-march=rv32i_zba_zbb",
    "-mabi=ilp32",
    "-mno-relax",
    "-ffreestanding",
    "-fno-jump-tables",
    "-fno-pic",
    "-ffunction-sections",
    "-fdata-sections",
    "-gdwarf-4",
    "-nostdlibinc",
    # The vendor's compiler indexes arrays by one counter, which PrIM's listings show: a shift and
    # addition in front of each load. Pointers that are counted up would be fewer instructions.
    "-mllvm",
    "-disable-lsr",
    # No instruction waits for another's result, and registers are few: loads that are moved to the
    # front of an unrolled loop would only be spilled.
    "-mllvm",
    "-enable-misched=false",
)
# What compilers of the time when most programs were written only warned of.
_OLD_C = (
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-pointer-types",
    "-Wno-error=incompatible-function-pointer-types",
    "-Wno-error=return-type",
    "-Wno-unknown-warning-option",
    "-Wno-ignored-optimization-argument",
    "-Wno-unused-command-line-argument",
)
_SECONDS = 600.0


def build(
    line: CommandLine, profile: DpuDescription | None = None, *, name: str = ""
) -> Path | None:
    """Do what a command line says; returns the file that it wrote.

    Without a profile the program is for the newest chip that has enough tasklets. Raises ToolError
    with the compiler's words, UserError where the machine has too little memory.
    """
    clang = DpuClang.found()
    named = None if line.chip is None else profile_named(line.chip)
    machine = profile or named or default_profile(line.tasklets)
    if not line.inputs:
        raise UserError("there is no file to compile")
    if line.stops_at != "program":
        return _compile_only(clang, line, machine)
    with private_folder("dpu-") as folder:
        objects = [
            _object(clang, path, line.flags, machine, Path(folder, f"{i}.o"))
            for i, path in enumerate(line.inputs)
        ]
        output = line.output or Path("a.out")
        _link(clang, line, objects, output)
        program_size(output).check(machine, name or output.name)
        return output


def _compile_only(clang: DpuClang, line: CommandLine, machine: DpuDescription) -> Path | None:
    suffix = {"object": ".o", "assembly": ".s"}.get(line.stops_at)
    for path in line.inputs:
        output = line.output or (Path(path.stem + suffix) if suffix else None)
        words = ["-c"] if line.stops_at == "object" else []
        words += [] if output is None else ["-o", str(output)]
        done = _run_clang(clang, [*line.flags, *words, str(path)], machine, f"compiling {path}")
        if line.stops_at == "text" and output is None:
            print(done, end="")
    return line.output


def _object(
    clang: DpuClang, path: Path, flags: Sequence[str], machine: DpuDescription, output: Path
) -> Path:
    if path.suffix in (".o", ".obj", ".a"):
        return path
    _run_clang(
        clang, [*flags, "-c", "-o", str(output), str(path)], machine, f"compiling {path.name}"
    )
    return output


def _run_clang(clang: DpuClang, words: Sequence[str], machine: DpuDescription, what: str) -> str:
    command = [*clang.clang, *_MACHINE, f"-DXTC_DPU_{machine.name.upper()}"]
    for folder in (DEVICE / "include", SHARED):
        command += ["-isystem", str(folder)]
    command += [] if clang.headers is None else ["-isystem", str(clang.headers)]
    done = tool.run(
        [*_clean(), *command, *_OLD_C, *words],
        what=what,
        install_hint=INSTALL_HINT,
        timeout=_SECONDS,
    )
    if done.stderr:
        os.write(2, done.stderr.encode())
    return done.stdout


def _clean() -> list[str]:
    """Headers of the host are none of a DPU's."""
    names = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")
    return ["env", *(word for name in names for word in ("-u", name))]


def _link(clang: DpuClang, line: CommandLine, objects: Sequence[Path], output: Path) -> None:
    sizes = [*line.stacks, *[0] * (MOST_TASKLETS - line.tasklets)]
    symbols = [f"--defsym=STACK_SIZE_TASKLET_{i}={size}" for i, size in enumerate(sizes)]
    flags = [flag for flag in line.linker_flags if flag not in ("-lc", "-lm")]
    runtime = sorted(Path(_runtime().name).glob("*.o"))
    command = [*clang.lld, "-T", str(DEVICE / "dpu.lds"), "--gc-sections", "-o", str(output)]
    command += [f"--defsym=NR_TASKLETS={line.tasklets}", *symbols]
    command += [*map(str, objects), *flags, *map(str, runtime)]
    tool.run(command, what=f"linking {output.name}", install_hint=INSTALL_HINT, timeout=_SECONDS)


@functools.cache
def _runtime() -> tempfile.TemporaryDirectory[str]:
    """The run-time library as object files: from the cache, where it was compiled before."""
    clang = DpuClang.found()
    folder = private_folder("dpu-rt-")
    cache = configured_cache() if knobs.CACHE.get() else None
    key = cache_key({"what": "upmem runtime", "clang": clang.version, "files": _files()})
    if cache is not None and cache.fetch(key, Path(folder.name)):
        return folder
    for path in sorted(DEVICE.glob("*.c")):
        # Its memcpy must not become a call of memcpy.
        words = ["-O2", "-fno-builtin", "-c", "-o", str(Path(folder.name, path.stem + ".o"))]
        _run_clang(clang, [*words, str(path)], default_profile(1), f"compiling {path.name}")
    if cache is not None:
        cache.publish(key, Path(folder.name))
    return folder


def _files() -> str:
    digest = hashlib.sha256()
    for path in sorted([*DEVICE.glob("*.c"), *DEVICE.glob("include/*"), *SHARED.iterdir()]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
