# SPDX-License-Identifier: Apache-2.0
"""Compiles DPU C for the simulator, with the types of the DPU's compiler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from xtc.core.errors import ToolError
from xtc.system import tool
from xtc.system.workspace import private_folder
from xtc_targets.upmem.description import DpuDescription
from xtc_targets.upmem.toolchain.c_types import WIDTHS, with_wide_longs
from xtc_targets.upmem.toolchain.clang import INSTALL_HINT, DpuClang
from xtc_targets.upmem.toolchain.folders import DEVICE, SHARED

MACHINE_FLAGS = (
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
    *WIDTHS,
    # Macros by which programs detect that they are compiled for DPUs.
    "-D__DPU",
    "-D__DPU__",
    # The vendor's compiler indexes arrays by one counter, as PrIM's listings show, with a shift and
    # an addition before each load. Incremented pointers would need fewer instructions.
    "-mllvm",
    "-disable-lsr",
)
# Older compilers, for which most programs were written, only warned about these.
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


def compile_file(
    clang: DpuClang, path: Path, words: Sequence[str], machine: DpuDescription
) -> None:
    """Compile C; if types differ on RISC-V, compile a version with the DPU's types.

    Args:
        clang: the compiler.
        path: path of a C or assembly file.
        words: flags, including `-c` or `-S` and the output.
        machine: the chip.

    Raises ToolError with the compiler's message.
    """
    what = f"compiling {path.name}"
    with private_folder("dpu-c-") as folder:
        text = Path(folder, path.stem + ".i")
        if path.suffix == ".c" and _write_wide(clang, path, words, machine, text):
            if any(word in ("-MD", "-MMD") for word in words):
                run_clang(clang, _dependencies(words, path), machine, f"reading {path.name}")
            plain = [*_without_preprocessing(words), "-x", "cpp-output", str(text)]
            run_clang(clang, plain, machine, what)
        else:
            run_clang(clang, [*words, str(path)], machine, what)


def _write_wide(
    clang: DpuClang, path: Path, words: Sequence[str], machine: DpuDescription, output: Path
) -> bool:
    """Write C with the machine's types; False if nothing differs, or the file has errors."""
    reading = [*_without_dependencies(words), "-E", str(path)]
    try:
        text = run_clang(clang, reading, machine, f"reading {path.name}", warns=False)
    except ToolError:
        return False  # compiling the file itself gives better messages
    wide = with_wide_longs(text)
    if wide != text:
        output.write_text(wide)
    return wide != text


def _without_dependencies(words: Sequence[str]) -> list[str]:
    """The arguments, except those that write dependencies and results."""
    return _without(
        words, alone=("-MD", "-MMD", "-MP", "-MG", "-c", "-S"), valued=("-MF", "-MT", "-MQ", "-o")
    )


def _without_preprocessing(words: Sequence[str]) -> list[str]:
    return _without(
        words,
        alone=("-MD", "-MMD", "-MP", "-MG"),
        valued=("-MF", "-MT", "-MQ", "-include", "-isystem", "-iquote", "-x"),
    )


def _without(words: Sequence[str], alone: Sequence[str], valued: Sequence[str]) -> list[str]:
    left: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in valued:
            next(rest, None)
        elif word not in alone:
            left.append(word)
    return left


def _dependencies(words: Sequence[str], path: Path) -> list[str]:
    """The arguments that write only the dependencies of a file, if they are requested."""
    output = Path(words[words.index("-o") + 1]) if "-o" in words else path.with_suffix(".o")
    kinds = {"-MD": "-M", "-MMD": "-MM"}
    asked = [kinds.get(word, word) for word in _without(words, ("-c", "-S"), ("-o",))]
    if "-MF" not in asked:
        asked += ["-MF", str(output.with_suffix(".d"))]
    if not {"-MT", "-MQ"} & set(asked):
        asked += ["-MT", str(output)]
    return [*asked, str(path)]


def run_clang(
    clang: DpuClang, words: Sequence[str], machine: DpuDescription, what: str, *, warns: bool = True
) -> str:
    """Run the compiler with the machine's flags and headers; returns its output.

    Args:
        clang: the compiler.
        words: arguments after the machine's flags.
        machine: the chip.
        what: description of the action, for errors.
        warns: whether warnings are shown.

    Raises ToolError with the compiler's message.
    """
    command = [*clang.clang, *MACHINE_FLAGS, f"-DXTC_DPU_{machine.name.upper()}"]
    command += [f"-DNR_THREADS={machine.tasklets}", *clang.scheduling]
    command += [] if any(word.startswith("-std=c") for word in words) else ["-DDPU"]
    for folder in (DEVICE / "include", SHARED):
        command += ["-isystem", str(folder)]
    command += [] if clang.headers is None else ["-isystem", str(clang.headers)]
    done = tool.run(
        [*_clean(), *command, *_OLD_C, *words],
        what=what,
        install_hint=INSTALL_HINT,
        timeout=_SECONDS,
    )
    if done.stderr and warns:
        os.write(2, done.stderr.encode())
    return done.stdout


def _clean() -> list[str]:
    """Flags that exclude the host's headers, and the machine's headers."""
    names = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")
    return ["env", *(word for name in names for word in ("-u", name))]
