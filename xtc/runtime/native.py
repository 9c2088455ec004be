# SPDX-License-Identifier: Apache-2.0
"""Builds the C of drivers and simulators, with a cache."""

from __future__ import annotations

import atexit
import functools
import hashlib
import platform
import shlex
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xtc.core import knobs
from xtc.core.errors import UserError
from xtc.system import tool
from xtc.system.cache import ArtifactCache, cache_key, configured_cache
from xtc.system.workspace import private_folder

CSRC = Path(__file__).parent / "csrc"
"""The C that drivers and simulators share."""

_FLAGS = ("-std=gnu11", "-O2", "-g1", "-Wall", "-Wextra", "-fvisibility=hidden", "-pthread")
_KINDS = {"program": ("-rdynamic",), "library": ("-fPIC", "-shared")}
_lock = threading.Lock()


@dataclass(frozen=True)
class NativeUnit:
    """A program or shared library in C.

    Attributes:
        name: the name of the output file.
        kind: a program also exports its visible functions to the libraries it loads.
        sources: the C files.
        include: the folders of headers.
        libraries: the libraries to link against, as named after `-l`.
        flags: additional compiler flags.
        linked: additional linker arguments, after all others.
    """

    name: str
    kind: Literal["program", "library"]
    sources: tuple[Path, ...]
    include: tuple[Path, ...] = (CSRC,)
    libraries: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()


def build_native(units: Sequence[NativeUnit]) -> Path:
    """A folder with the built files of all units, which exists until the process ends.

    The compiler is the command of the knob XTC_CC. It runs unless this process has built the units
    before or the cache has them. Raises ToolError with the compiler's output, and UserError if
    XTC_CC is not a command.
    """
    with _lock:
        return Path(_built(_key(units), tuple(units)).name)


def compile_unit(unit: NativeUnit, folder: Path) -> Path:
    """Compile and link a unit into `folder`. Raises ToolError with the compiler's output."""
    output = folder / unit.name
    words = [*_compiler(), *_FLAGS, *unit.flags, *_KINDS[unit.kind]]
    words += [f"-I{folder}" for folder in unit.include]
    words += [*map(str, unit.sources), "-o", str(output)]
    words += [f"-l{library}" for library in unit.libraries]
    words += unit.linked
    hint = f"install a C compiler (Debian: apt install gcc), or name one in {knobs.CC.name}"
    tool.run(words, what=f"building {unit.name}", install_hint=hint)
    return output


@functools.lru_cache(maxsize=32)
def _built(key: str, units: tuple[NativeUnit, ...]) -> tempfile.TemporaryDirectory[str]:
    folder = private_folder("native-")
    atexit.register(folder.cleanup)
    path = Path(folder.name)
    cache = _cache()
    if cache is None or not cache.fetch(key, path):
        for unit in units:
            compile_unit(unit, path)
        if cache is not None:
            cache.publish(key, path)
    return folder


def _cache() -> ArtifactCache | None:
    """The cache in the folder XTC_NATIVE_DIR, or the artifact cache if that is in use."""
    chosen = knobs.NATIVE_DIR.get()
    if chosen is not None:
        return ArtifactCache(chosen.absolute())
    return configured_cache() if knobs.CACHE.get() else None


def _key(units: Sequence[NativeUnit]) -> str:
    from xtc.codegen.llvm import linker_version  # not needed at start-up without devices

    parts = {
        "what": "native",
        "compiler": linker_version(),
        "machine": platform.machine(),
        "flags": repr((_FLAGS, _KINDS)),
    }
    for unit in units:
        command = (
            unit.kind,
            unit.libraries,
            unit.flags,
            unit.linked,
            [path.name for path in unit.sources],
        )
        parts[f"unit {unit.name}"] = repr(command)
        parts[f"files of {unit.name}"] = repr(_file_hashes(unit))
    return cache_key(parts)


def _file_hashes(unit: NativeUnit) -> list[tuple[str, str]]:
    headers = (
        path for folder in unit.include for kind in ("*.h", "*.def") for path in folder.glob(kind)
    )
    files = sorted({*unit.sources, *headers})
    return [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]


def _compiler() -> list[str]:
    command = knobs.CC.get()
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UserError(
            f"{knobs.CC.name} is not a command: {command}", notes=[str(error)]
        ) from None
