# SPDX-License-Identifier: Apache-2.0
"""Compiles and links programs for DPUs, for the simulator."""

from __future__ import annotations

import functools
import hashlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from xtc.core import knobs
from xtc.core.errors import ToolError, UserError
from xtc.system import tool
from xtc.system.cache import cache_key, configured_cache
from xtc.system.workspace import private_folder
from xtc_targets.upmem.description import DpuDescription, default_profile, profile_named
from xtc_targets.upmem.toolchain.clang import INSTALL_HINT, DpuClang
from xtc_targets.upmem.toolchain.command_line import MOST_TASKLETS, CommandLine
from xtc_targets.upmem.toolchain.compile import MACHINE_FLAGS, compile_file, run_clang
from xtc_targets.upmem.toolchain.elf import program_size
from xtc_targets.upmem.toolchain.folders import DEVICE, SHARED

_SECONDS = 600.0
_HEAP = "DPUs have mem_alloc, buddy_alloc and fsb_alloc, by alloc.h"
_ABSENT = {
    **dict.fromkeys(("malloc", "calloc", "realloc", "free"), _HEAP),
    "main": "a program for DPUs has a main, which each tasklet runs",
}


def build(
    line: CommandLine, profile: DpuDescription | None = None, *, name: str = ""
) -> Path | None:
    """Execute a command line; returns the file that it wrote.

    Without a profile, the program is for the newest chip with enough tasklets. Raises ToolError
    with the compiler's message, and UserError if the machine has too little memory.
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
        _warn_of_tasklets(line)
        _link(clang, line, objects, output)
        program_size(output).check(machine, name or output.name)
        return output


def _warn_of_tasklets(line: CommandLine) -> None:
    """Warn about a program that reads NR_TASKLETS, if it is undefined and thus 1."""
    if line.tasklets_are_given:
        return
    for path in line.inputs:
        if path.suffix == ".c" and "NR_TASKLETS" in path.read_text(errors="replace"):
            print(
                f"dpu-upmem-dpurte-clang: warning: {path} reads NR_TASKLETS, which is 1\n"
                "  hint: -DNR_TASKLETS=16 gives the program 16 tasklets",
                file=sys.stderr,
            )


def _compile_only(clang: DpuClang, line: CommandLine, machine: DpuDescription) -> Path | None:
    suffix = {"object": ".o", "assembly": ".s"}.get(line.stops_at)
    for path in line.inputs:
        output = line.output or (Path(path.stem + suffix) if suffix else None)
        words = ["-c"] if line.stops_at == "object" else []
        words += [] if output is None else ["-o", str(output)]
        if line.stops_at == "text":
            done = run_clang(clang, [*line.flags, *words, str(path)], machine, f"reading {path}")
            print(done, end="")
        else:
            compile_file(clang, path, [*line.flags, *words], machine)
    return line.output


def _object(
    clang: DpuClang, path: Path, flags: Sequence[str], machine: DpuDescription, output: Path
) -> Path:
    if path.suffix in (".o", ".obj", ".a"):
        return path
    compile_file(clang, path, [*flags, "-c", "-o", str(output)], machine)
    return output


def _link(clang: DpuClang, line: CommandLine, objects: Sequence[Path], output: Path) -> None:
    sizes = [*line.stacks, *[0] * (MOST_TASKLETS - line.tasklets)]
    symbols = [f"--defsym=STACK_SIZE_TASKLET_{i}={size}" for i, size in enumerate(sizes)]
    flags = [flag for flag in line.linker_flags if flag not in ("-lc", "-lm")]
    runtime = sorted(Path(_runtime().name).glob("*.o"))
    command = [*clang.lld, "-T", str(DEVICE / "dpu.lds"), "--gc-sections", "-o", str(output)]
    command += [f"--defsym=NR_TASKLETS={line.tasklets}", *symbols]
    command += [*map(str, objects), *flags, *map(str, runtime)]
    try:
        tool.run(
            command, what=f"linking {output.name}", install_hint=INSTALL_HINT, timeout=_SECONDS
        )
    except ToolError as error:
        said = "\n".join(error.notes)
        hints = [hint for name, hint in _ABSENT.items() if f"undefined symbol: {name}\n" in said]
        raise ToolError(error.what, notes=error.notes, hints=[*error.hints, *hints]) from None


@functools.cache
def _runtime() -> tempfile.TemporaryDirectory[str]:
    """The run-time library as object files, compiled or from the cache."""
    clang = DpuClang.found()
    folder = private_folder("dpu-rt-")
    cache = configured_cache() if knobs.CACHE.get() else None
    flags = " ".join([*MACHINE_FLAGS, *clang.scheduling])
    key = cache_key(
        {"what": "upmem runtime", "clang": clang.version, "flags": flags, "files": _files()}
    )
    if cache is not None and cache.fetch(key, Path(folder.name)):
        return folder
    for path in sorted(DEVICE.glob("*.c")):
        # The library's memcpy must not be compiled to a call of memcpy.
        words = ["-O2", "-fno-builtin", "-c", "-o", str(Path(folder.name, path.stem + ".o"))]
        compile_file(clang, path, words, default_profile(1))
    if cache is not None:
        cache.publish(key, Path(folder.name))
    return folder


def _files() -> str:
    digest = hashlib.sha256()
    for path in sorted([*DEVICE.glob("*.c"), *DEVICE.glob("include/*"), *SHARED.iterdir()]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
