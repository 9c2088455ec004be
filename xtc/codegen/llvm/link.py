# SPDX-License-Identifier: Apache-2.0
"""Links object files, or compiles C sources, to a shared library with the C compiler's driver."""

from __future__ import annotations

import functools
import logging
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from xtc.codegen.llvm.data import write_data_object
from xtc.codegen.llvm.elf_data import Content, has_elf
from xtc.codegen.llvm.elf_reserved import UnknownLayoutError, append_data, reserve_data
from xtc.codegen.llvm.machine import Machine
from xtc.codegen.llvm.triple import split
from xtc.core import knobs
from xtc.core.errors import ToolError, UserError
from xtc.system import c_compiler as cc
from xtc.system import tool

_log = logging.getLogger(__name__)

_LARGE = 1 << 20
"""The size in bytes from which constants are appended instead of linked."""


@dataclass(frozen=True)
class Constants:
    """Constants by symbol: contents, each looked up once, and sizes in bytes."""

    contents: Mapping[str, Content]
    sizes: Mapping[str, int]


def link_shared(
    objects: Sequence[bytes | Path],
    output: Path,
    machine: Machine,
    *,
    libraries: Sequence[str] = ("m",),
    constants: Constants | None = None,
) -> None:
    """Link object files into a shared library, which appears atomically.

    The compiler is the command of the knob XTC_CC, with or without arguments. Symbols that neither
    the objects nor the libraries define remain undefined until the library is loaded.

    Args:
        objects: object files, or their contents.
        output: the library's path; its folder exists, a file of that name is replaced.
        machine: the machine of the objects.
        libraries: the libraries to link against, as named after the compiler's `-l`.
        constants: data that the objects use, with hidden visibility.

    Raises:
        UserError: the output's folder does not exist, or XTC_CC is not a command.
        ToolError: the compiler is missing or failed; with its output.
    """
    if not output.parent.is_dir():
        raise UserError(f"the folder of the shared library {output} does not exist")
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as folder:
        paths = [_file(Path(folder, f"{n}.o"), content) for n, content in enumerate(objects)]
        linked = Path(folder, output.name)
        link = partial(_link, linked=linked, machine=machine, libraries=libraries)
        if constants is None:
            link(paths)
        elif not _link_around(link, paths, linked, machine, constants):
            data = Path(folder, "constants.o")
            write_data_object(data, constants.contents, machine)
            link([*paths, data])
        linked.replace(output)


def _link_around(
    link: Callable[[list[Path]], None],
    paths: list[Path],
    linked: Path,
    machine: Machine,
    constants: Constants,
) -> bool:
    """Link, and append the constants; False if they are small or cannot be appended."""
    if sum(constants.sizes.values()) < _LARGE or not has_elf(machine):
        return False
    reserved = linked.with_name("reserved.o")
    reserve_data(reserved, constants.sizes, machine)
    link([*paths, reserved])
    try:
        append_data(linked, constants.sizes, constants.contents)
    except UnknownLayoutError as error:
        _log.info("linking the constants of %s as an object: %s", linked.name, error)
        return False
    return True


def _file(path: Path, content: bytes | Path) -> Path:
    """The file of an object; contents are written to `path`."""
    if isinstance(content, Path):
        return content
    path.write_bytes(content)
    return path


def compile_shared(
    sources: Sequence[Path], output: Path, machine: Machine, *, flags: Sequence[str] = ()
) -> None:
    """Compile C files into a shared library, which appears atomically.

    Args:
        sources: the C files.
        output: the library's path; its folder exists, a file of that name is replaced.
        machine: the machine that the arguments of XTC_CC must select.
        flags: compiler flags in addition to those for a shared library.

    Raises:
        ToolError: the compiler is missing or failed; with its output.
    """
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as folder:
        compiled = Path(folder, output.name)
        arguments = ["-fPIC", *flags, *map(str, sources)]
        _run_compiler(arguments, compiled, machine, f"compiling {output.name}")
        compiled.replace(output)


def linker_version() -> str:
    """The link command and the first line of its version output; cached.

    Only the command if it is missing or prints no version. Raises UserError like `link_shared`.
    """
    command = cc.command()
    try:
        return _version_of(tuple(command))
    except ToolError:
        return shlex.join(command)


@functools.lru_cache(maxsize=8)
def _version_of(command: tuple[str, ...]) -> str:
    asked = tool.run(
        [*command, "--version"], what="querying the linker", install_hint=cc.INSTALL_HINT
    )
    return f"{shlex.join(command)}: {asked.stdout.partition(chr(10))[0]}"


def _link(objects: list[Path], linked: Path, machine: Machine, libraries: Sequence[str]) -> None:
    flags = [f"-l{library}" for library in libraries]
    if split(machine.triple).system == "linux":
        # Many drivers request a hash of the whole file, which doubles the time of a link.
        flags.append("-Wl,--build-id=none")
    _run_compiler([*map(str, objects), *flags], linked, machine, f"linking {linked.name}")


def _run_compiler(arguments: list[str], output: Path, machine: Machine, what: str) -> None:
    command = [*cc.command(), "-shared", "-o", str(output), *arguments]
    try:
        tool.run(command, what=what, install_hint=cc.INSTALL_HINT)
    except ToolError as error:
        if machine.is_host:
            raise
        hint = f"{knobs.CC.name} must name a compiler for {machine.triple}"
        raise ToolError(error.what, notes=error.notes, hints=[*error.hints, hint]) from error
