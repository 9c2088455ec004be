# SPDX-License-Identifier: Apache-2.0
"""Finds and runs NVIDIA's programs that assemble PTX and pack it with machine code."""

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
    """The path of one of NVIDIA's programs; None if it is not found.

    Searches the PyPI packages of CUDA, the path and /usr/local/cuda. If XTC_CUDA_ROOT names a
    toolkit, searches only that, and raises ToolError if it lacks the program.
    """
    if root := knobs.CUDA_ROOT.get():
        path = shutil.which(program, path=root / "bin")
        if path is None:
            raise ToolError(
                f"{knobs.CUDA_ROOT.name} is {root}, which does not contain 'bin/{program}'",
                hints=[f"unset it, or name the folder of a CUDA toolkit: {USUAL_FOLDER}"],
            )
        return Path(path)
    paths = (shutil.which(program, path=searched) for searched in _folders())
    return next((Path(path) for path in paths if path), None)


def found(program: str, deed: str) -> Path:
    """The path of a program. Raises ToolError if it is missing; `deed` is its purpose."""
    path = find(program)
    if path is None:
        raise ToolError(
            f"{deed} needs NVIDIA's program '{program}', which was not found",
            notes=[f"searched: the packages of this Python, the path and {USUAL_FOLDER}"],
            hints=[HINT],
        )
    return path


def version(program: Path) -> str:
    """The version of a program, in one line."""
    return _version(program, program.stat().st_mtime_ns)


def fat_binary(ptx: str, arch: str, chips: Sequence[str], file: Path) -> None:
    """Write `file`: machine code for each of `chips`, and the PTX for all other GPUs.

    NVIDIA's driver selects the code for its GPU. Raises ToolError if a program is missing, and
    CompileError with the assembler's message if it rejects the PTX.
    """
    with private_folder("nvgpu-") as temporary:
        folder = Path(temporary)
        (folder / "device.ptx").write_text(ptx)
        for chip in chips:
            assemble(folder / "device.ptx", chip, folder / f"{chip}.cubin")
        images = [f"--image3=kind=elf,sm={chip[3:]},file={chip}.cubin" for chip in chips]
        images.append(f"--image3=kind=ptx,sm={arch[3:]},file=device.ptx")
        program = found("fatbinary", "packing machine code and PTX into one file")
        words: list[Path | str] = [program, "-64", *images, f"--create={file.resolve()}"]
        tool.run(words, what=f"writing {file.name}", install_hint=HINT, cwd=folder)


def assemble(ptx: Path, chip: str, cubin: Path) -> str:
    """Assemble a PTX file for one chip and return the assembler's output.

    Raises ToolError if the assembler is missing, and CompileError with its message if it rejects
    the code.
    """
    deed = f"generating machine code for {chip}"
    ptxas = found("ptxas", deed)
    # Otherwise the code would contain the folder's name.
    words: list[Path | str] = [ptxas, "-v", f"-arch={chip}", ptx.name, "-o", cubin.resolve()]
    try:
        ran = tool.run(
            words, what=deed, install_hint=HINT, timeout=_ASSEMBLE_S, cwd=ptx.resolve().parent
        )
    except ToolError as error:
        hint = "with cubins='none', the GPU's driver generates machine code when it loads the PTX"
        raise CompileError(error.what, notes=error.notes, hints=[hint]) from None
    return ran.stderr


def _folders() -> Iterator[Path | None]:
    """The folders to search; None means the path."""
    package = importlib.util.find_spec("nvidia")
    for folder in (package.submodule_search_locations or []) if package else []:
        toolkits = sorted(Path(folder).glob("cu[0-9]*"), reverse=True)
        yield from (toolkit / "bin" for toolkit in (*toolkits, Path(folder) / "cuda_nvcc"))
    yield None
    yield USUAL_FOLDER / "bin"


@functools.lru_cache(maxsize=8)
def _version(program: Path, changed_ns: int) -> str:
    ran = tool.run(
        [program, "--version"], what=f"querying the version of {program.name}", install_hint=HINT
    )
    release = re.search(r"V(\d[\d.]*)", ran.stdout)
    return f"{program.name} {release[1] if release else ran.stdout.strip()}"
