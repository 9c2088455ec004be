# SPDX-License-Identifier: Apache-2.0
"""Every environment variable this project reads, typed and described, in one file.

A knob is read on use, never at import. `docs/knobs.md` is generated from `KNOBS`.
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
    """One environment variable: its name, parser, default and description."""

    name: str
    parse: Callable[[str], T]
    default: T
    help: str

    @property
    def default_text(self) -> str:
        """The default as a user would write it; "" for an unset or empty value."""
        if isinstance(self.default, bool):
            return str(int(self.default))
        return "" if self.default in (None, (), "") else str(self.default)

    def set(self, text: str) -> None:
        """Set the value for this process and its child processes."""
        os.environ[self.name] = text  # noqa: TID251  the one place

    def get(self) -> T:
        """The parsed value, or the default if unset or empty. Raises UserError for invalid text."""
        text = os.environ.get(self.name, "")  # noqa: TID251  the one place
        if not text:
            return self.default
        try:
            return self.parse(text)
        except ValueError as error:
            default = f" ({self.default_text})" if self.default_text else ""
            raise UserError(
                f"environment variable {self.name} has the unusable value {text!r}",
                notes=[str(error), self.help],
                hints=[f"unset {self.name} to get the default{default}"],
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
    """Parses `2147483648`, `2G` or `2GiB`; units are powers of 1024. Raises ValueError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("must be a number of bytes, or one with K, M, G or T after it")
    return int(match[1]) * _UNITS[match[2]]


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(Path(word) for word in text.split(os.pathsep) if word)


def add_extension(file: Path) -> None:
    """Add a file to XTC_EXTENSIONS, for this process and its child processes."""
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
    "threads of parallel loops unless the compiler is given a number; all usable cores if unset",
)
SPIN = _declare(
    "XTC_SPIN_US",
    _microseconds,
    1000,
    "microseconds for which idle threads of parallel loops spin before they sleep; "
    "0 leaves the cores to other programs",
)
_NO_PATHS: tuple[Path, ...] = ()
EXTENSIONS = _declare(
    "XTC_EXTENSIONS",
    _paths,
    _NO_PATHS,
    "Python files that define passes and operators, separated as in PATH; `--load` adds one",
)
CACHE = _declare("XTC_CACHE", _switch, True, "0 disables the artifact cache")
CACHE_DIR = _declare(
    "XTC_CACHE_DIR",
    Path,
    None,
    "folder of the artifact cache; unset, `artifacts` in the user's cache folder for xtc",
)
CACHE_LIMIT = _declare(
    "XTC_CACHE_LIMIT",
    parse_size,
    2 << 30,
    "size above which the artifact cache drops the least recently used entries: bytes, or 500M, 2G",
)
NATIVE_DIR = _declare(
    "XTC_NATIVE_DIR",
    Path,
    None,
    "folder that keeps the compiled C of drivers and simulators; unset, the artifact cache",
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
    "installation folder of Kalray's AccessCore toolchain, for its simulators and its hardware",
)
CUDA_ROOT = _declare(
    "XTC_CUDA_ROOT",
    Path,
    None,
    "CUDA toolkit whose bin/ has ptxas and fatbinary; unset, the PyPI packages, the path and "
    "/usr/local/cuda are searched",
)
UPMEM_PROFILE = _declare(
    "XTC_UPMEM_PROFILE",
    str,
    "",
    "version of UPMEM's chip, v1A or v1B, for stand-alone DPU programs; "
    "unset, v1B, or v1A for a program with more tasklets than v1B has",
)
UPMEM_SEED = _declare(
    "XTC_UPMEM_SEED",
    int,
    0,
    "seed that shuffles the order of a DPU's tasklets, to expose races; 0 keeps the order",
)
UPMEM_STRICT = _declare(
    "XTC_UPMEM_STRICT", _switch, False, "1 makes misaligned DMA addresses of a DPU a fault"
)
UPMEM_LIMIT = _declare(
    "XTC_UPMEM_LIMIT",
    _positive,
    10**12,
    "number of instructions after which a program on a simulated DPU is stopped",
)
UPMEM_THREADS = _declare(
    "XTC_UPMEM_THREADS",
    _positive,
    None,
    "threads that simulate DPUs; all usable cores if unset",
)
UPMEM_DPUS = _declare(
    "XTC_UPMEM_DPUS", _positive, 64, "number of DPUs for a program that requests all available ones"
)
UPMEM_LIBRARY = _declare(
    "XTC_UPMEM_LIBRARY",
    str,
    "",
    "folder of the host's DPU library; xtc sets it for build programs",
)


def inherited_environment() -> dict[str, str]:
    """All variables of this process, for child processes with a changed environment."""
    return dict(os.environ)  # noqa: TID251  the one place
