# SPDX-License-Identifier: Apache-2.0
"""Every environment variable this project reads, typed and described, in one file.

A knob is read when it is asked for, never at import. `docs/knobs.md` is generated from `KNOBS`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from xtc.core.errors import UserError

T = TypeVar("T")

KNOBS: dict[str, Knob[object]] = {}


@dataclass(frozen=True)
class Knob(Generic[T]):
    """One environment variable: its name, how its text is read, its default, what it does."""

    name: str
    parse: Callable[[str], T]
    default: T
    help: str

    def set(self, text: str) -> None:
        """Give this process, and those that it starts, another value."""
        os.environ[self.name] = text  # noqa: TID251  the one place

    def get(self) -> T:
        """The parsed value, or the default where unset or empty. Raises UserError on bad text."""
        text = os.environ.get(self.name, "")  # noqa: TID251  the one place
        if not text:
            return self.default
        try:
            return self.parse(text)
        except ValueError as error:
            raise UserError(
                f"environment variable {self.name} has the unusable value {text!r}",
                notes=[str(error), self.help],
                hints=[f"unset {self.name} to get the default ({self.default})"],
            ) from None


def _declare(name: str, parse: Callable[[str], T], default: T, help: str) -> Knob[T]:
    knob = Knob(name, parse, default, help)
    KNOBS[name] = knob  # type: ignore[assignment]
    return knob


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("must be 1 or more")
    return value


def _microseconds(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 1_000_000:
        raise ValueError("must be from 0 to 1000000")
    return value


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("must be 0 or 1")
    return text == "1"


_SIZE = re.compile(r"(\d+)([KMGT]?)(?:i?B)?")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Bytes in `2147483648`, `2G` or `2GiB`: units are powers of 1024. Raises ValueError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("must be a number of bytes, or one with K, M, G or T after it")
    return int(match[1]) * _UNITS[match[2]]


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(Path(word) for word in text.split(os.pathsep) if word)


def add_extension(file: Path) -> None:
    """Name a file in XTC_EXTENSIONS, for this process and those that it starts."""
    files = map(str, (*EXTENSIONS.get(), file))
    os.environ[EXTENSIONS.name] = os.pathsep.join(files)  # noqa: TID251  the one place


DUMP_DIR = _declare(
    "XTC_DUMP_DIR", Path, None, "folder that receives the IR after every pass, one file per pass"
)
CC = _declare(
    "XTC_CC", str, "cc", "C compiler: links shared libraries, and compiles code generated as C"
)
THREADS = _declare(
    "XTC_THREADS",
    _positive,
    None,
    "threads of parallel loops where the compiler was told no number; all usable cores if unset",
)
SPIN = _declare(
    "XTC_SPIN_US",
    _microseconds,
    1000,
    "microseconds for which idle threads of parallel loops look for work before they sleep; "
    "0 if others need the cores more",
)
_NO_PATHS: tuple[Path, ...] = ()
EXTENSIONS = _declare(
    "XTC_EXTENSIONS",
    _paths,
    _NO_PATHS,
    "Python files with passes and operators of yours, separated as in PATH; `--load` adds one",
)
CACHE = _declare("XTC_CACHE", _switch, True, "0 compiles anew every time and keeps nothing")
CACHE_DIR = _declare(
    "XTC_CACHE_DIR",
    Path,
    None,
    "folder of the artefact cache; unset, `artifacts` in the user's cache folder for xtc",
)
CACHE_LIMIT = _declare(
    "XTC_CACHE_LIMIT",
    parse_size,
    2 << 30,
    "size at which the artefact cache drops what was not used for longest: bytes, or 500M, 2G",
)
NATIVE_DIR = _declare(
    "XTC_NATIVE_DIR",
    Path,
    None,
    "folder that keeps the compiled C of drivers and simulators; unset, the artefact cache",
)
TUNING_DB = _declare(
    "XTC_TUNING_DB",
    Path,
    None,
    "database of tuned schedules; unset, `tuning.db` in the user's data folder for xtc",
)
KALRAY_TOOLCHAIN_DIR = _declare(
    "KALRAY_TOOLCHAIN_DIR",
    Path,
    None,
    "where Kalray's AccessCore toolchain is installed, for its simulators and its hardware",
)
CUDA_ROOT = _declare(
    "XTC_CUDA_ROOT",
    Path,
    None,
    "CUDA toolkit whose bin/ has ptxas and fatbinary; unset, the PyPI packages, the path and "
    "/usr/local/cuda are looked through",
)
UPMEM_PROFILE = _declare(
    "XTC_UPMEM_PROFILE",
    str,
    "",
    "version of UPMEM's chip, v1A or v1B, for programs that are built and run by themselves; "
    "unset, v1B, or v1A where a program has more tasklets than it",
)
UPMEM_SEED = _declare(
    "XTC_UPMEM_SEED",
    int,
    0,
    "the order of a DPU's tasklets is shuffled by this number, which shows races; 0 does not",
)
UPMEM_STRICT = _declare(
    "XTC_UPMEM_STRICT", _switch, False, "1 makes misaligned addresses of a DPU's DMA faults"
)
UPMEM_LIMIT = _declare(
    "XTC_UPMEM_LIMIT",
    _positive,
    10**12,
    "instructions after which a program on a simulated DPU is stopped",
)
UPMEM_THREADS = _declare(
    "XTC_UPMEM_THREADS",
    _positive,
    None,
    "threads that simulate DPUs; all usable cores if unset",
)
UPMEM_DPUS = _declare(
    "XTC_UPMEM_DPUS", _positive, 64, "DPUs that a program gets which asks for all there are"
)
UPMEM_LIBRARY = _declare(
    "XTC_UPMEM_LIBRARY",
    str,
    "",
    "set for programs that build others: the folder of the host's library of DPUs",
)


def inherited_environment() -> dict[str, str]:
    """All variables of this process, for programs that it starts in another environment."""
    return dict(os.environ)  # noqa: TID251  the one place
