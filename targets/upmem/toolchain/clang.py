# SPDX-License-Identifier: Apache-2.0
"""The compiler of DPU programs: clang and lld for RISC-V, for example of the package ziglang."""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from xtc.core.errors import ToolError
from xtc.system import tool

INSTALL_HINT = (
    "pip install ziglang, which has clang and lld, "
    "or install them otherwise (Debian: apt install clang lld)"
)
_DIRECTION_SINCE = 20
"""The first version of LLVM with the present name of the flag for the scheduler's direction."""


@dataclass(frozen=True)
class DpuClang:
    """A compiler and a linker.

    Attributes:
        clang: the command of the compiler.
        lld: the command of the linker.
        headers: folder of the compiler's headers, such as `stdint.h`; None if it finds them itself.
    """

    clang: tuple[str, ...]
    lld: tuple[str, ...]
    headers: Path | None

    @staticmethod
    def found() -> DpuClang:
        """The compiler of ziglang, or of the path. Raises ToolError if there is neither."""
        found = _of_ziglang() or _of_path()
        if found is None:
            raise ToolError(
                "compiling for DPUs needs clang and lld for RISC-V, which were not found",
                hints=[INSTALL_HINT],
            )
        return found

    @property
    def version(self) -> str:
        """The first line of the compiler's version output."""
        return _version(self.clang)

    @property
    def scheduling(self) -> tuple[str, str]:
        """Flags for LLVM's generic instruction scheduler, which the vendor's compiler uses:
        bottom-up, with low register pressure. The RISC-V scheduler loads early, and spills.
        """
        found = re.search(r"version (\d+)", self.version)
        is_old = found is not None and int(found[1]) < _DIRECTION_SINCE
        return ("-mllvm", "-misched-bottomup" if is_old else "-misched-prera-direction=bottomup")


def unavailable() -> str | None:
    """The reason why programs cannot be compiled here, or None."""
    try:
        DpuClang.found()
    except ToolError as error:
        return error.what
    return None


@functools.lru_cache(maxsize=4)
def _version(command: tuple[str, ...]) -> str:
    asked = tool.run(
        [*command, "--version"], what="querying the version of clang", install_hint=INSTALL_HINT
    )
    return asked.stdout.strip().partition("\n")[0]


def _of_ziglang() -> DpuClang | None:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    zig = str(folder / "zig")
    return DpuClang((zig, "clang"), (zig, "ld.lld"), folder / "lib" / "include")


def _of_path() -> DpuClang | None:
    for suffix in ("", *(f"-{version}" for version in range(25, 13, -1))):
        clang, lld = shutil.which(f"clang{suffix}"), shutil.which(f"ld.lld{suffix}")
        if clang and lld:
            return DpuClang((clang,), (lld,), None)
    return None
