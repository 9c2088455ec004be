# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's programs, where they are found: from PTX to machine code, and both in one file."""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from xtc.core import knobs
from xtc.core.errors import CompileError, ToolError
from xtc.system import tool
from xtc.system.workspace import private_folder

USUAL_FOLDER = Path("/usr/local/cuda")
HINT = f"pip install nvidia-cuda-nvcc, or name a CUDA toolkit in {knobs.CUDA_ROOT.name}"
_ASSEMBLE_S = 600.0


def find(program: str) -> Path | None:
    """One of NVIDIA's programs; None where it is not found.

    Looked for in the PyPI packages of CUDA, on the path and in /usr/local/cuda; or in the toolkit
    that XTC_CUDA_ROOT names, and there alone. Raises ToolError where that has no such program.
    """
    if root := knobs.CUDA_ROOT.get():
        path = shutil.which(program, path=root / "bin")
        if path is None:
            raise ToolError(
                f"{knobs.CUDA_ROOT.name} is {root}, which has no program 'bin/{program}'",
                hints=[f"unset it, or name the folder of a CUDA toolkit: {USUAL_FOLDER}"],
            )
        return Path(path)
    paths = (shutil.which(program, path=searched) for searched in _folders())
    return next((Path(path) for path in paths if path), None)


def found(program: str, deed: str) -> Path:
    """The same; raises ToolError where it is not found, `deed` being what it is needed for."""
    path = find(program)
    if path is None:
        raise ToolError(
            f"{deed} needs NVIDIA's program '{program}', which was not found",
            notes=[f"looked for in the packages of this Python, on the path and in {USUAL_FOLDER}"],
            hints=[HINT],
        )
    return path


def version(program: Path) -> str:
    """What a program says that it is, in one line."""
    return _version(program, program.stat().st_mtime_ns)


def fat_binary(ptx: str, arch: str, chips: Sequence[str], file: Path) -> None:
    """Write `file`: machine code for each of `chips`, and the PTX for what none of it runs on.

    NVIDIA's driver takes from it what fits its GPU. Raises ToolError where a program is missing,
    CompileError with the assembler's words where it refuses the PTX.
    """
    with private_folder("nvgpu-") as temporary:
        folder = Path(temporary)
        (folder / "device.ptx").write_text(ptx)
        for chip in chips:
            assemble(folder / "device.ptx", chip, folder / f"{chip}.cubin")
        images = [f"--image3=kind=elf,sm={chip[3:]},file={chip}.cubin" for chip in chips]
        images.append(f"--image3=kind=ptx,sm={arch[3:]},file=device.ptx")
        program = found("fatbinary", "putting machine code and PTX into one file")
        words: list[Path | str] = [program, "-64", *images, f"--create={file.resolve()}"]
        tool.run(words, what=f"making {file.name}", install_hint=HINT, cwd=folder)


def assemble(ptx: Path, chip: str, cubin: Path) -> str:
    """Machine code of a file of PTX for one chip; returns what the assembler says of it.

    Raises ToolError where there is no assembler, CompileError with its words where it refuses the
    code.
    """
    deed = f"making machine code for {chip}"
    ptxas = found("ptxas", deed)
    # The folder's name would be a part of the code.
    words: list[Path | str] = [ptxas, "-v", f"-arch={chip}", ptx.name, "-o", cubin.resolve()]
    try:
        ran = tool.run(
            words, what=deed, install_hint=HINT, timeout=_ASSEMBLE_S, cwd=ptx.resolve().parent
        )
    except ToolError as error:
        hint = "cubins='none' leaves machine code to the driver of the GPU, when it loads the PTX"
        raise CompileError(error.what, notes=error.notes, hints=[hint]) from None
    return ran.stderr


def _folders() -> Iterator[Path | None]:
    """Folders to look in; None is the path."""
    package = importlib.util.find_spec("nvidia")
    for folder in (package.submodule_search_locations or []) if package else []:
        toolkits = sorted(Path(folder).glob("cu[0-9]*"), reverse=True)
        yield from (toolkit / "bin" for toolkit in (*toolkits, Path(folder) / "cuda_nvcc"))
    yield None
    yield USUAL_FOLDER / "bin"


@functools.lru_cache(maxsize=8)
def _version(program: Path, changed_ns: int) -> str:
    ran = tool.run(
        [program, "--version"], what=f"asking {program.name} what it is", install_hint=HINT
    )
    release = re.search(r"V(\d[\d.]*)", ran.stdout)
    return f"{program.name} {release[1] if release else ran.stdout.strip()}"
