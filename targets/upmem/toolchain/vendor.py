# SPDX-License-Identifier: Apache-2.0
"""UPMEM's SDK, if it is installed: its compiler of DPU programs, and its library.

The compiler's driver takes the chip's version as `-mcpu`, and the number of tasklets and the stacks
as macros (UPMEM's public llvm-project, clang/lib/Driver/ToolChains/DPURTE.cpp and Arch/DPU.cpp).
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xtc.core import knobs
from xtc.core.errors import ToolError
from xtc.system import tool

COMPILER = "dpu-upmem-dpurte-clang"
PKG_CONFIG = "dpu-pkg-config"
INSTALL_HINT = "install UPMEM's kit, and put its programs on the path (its upmem_env.sh does)"
_SECONDS = 600.0


@dataclass(frozen=True)
class VendorKit:
    """The programs of the SDK.

    Attributes:
        compiler: the compiler of DPU programs.
        pkg_config: the program that prints the flags to compile and link host programs.
    """

    compiler: str
    pkg_config: str

    @staticmethod
    def found() -> VendorKit:
        """The SDK on the path. Raises ToolError if there is none."""
        path = knobs.inherited_environment().get("PATH")
        paths = [shutil.which(name, path=path) for name in (COMPILER, PKG_CONFIG)]
        if None in paths:
            missing = [
                name
                for name, found in zip((COMPILER, PKG_CONFIG), paths, strict=True)
                if found is None
            ]
            raise ToolError(
                f"platform hw needs UPMEM's SDK, but {' and '.join(missing)} was not found",
                hints=[INSTALL_HINT, "platform sim simulates the DPUs"],
            )
        return VendorKit(str(paths[0]), str(paths[1]))

    @property
    def version(self) -> str:
        """The first line of the compiler's version output."""
        asked = tool.run(
            [self.compiler, "--version"],
            what="querying the version of the compiler",
            install_hint=INSTALL_HINT,
        )
        return asked.stdout.strip().partition("\n")[0]

    def command(
        self, sources: Sequence[Path], output: Path, chip: str, flags: Sequence[str]
    ) -> list[str]:
        """The command line that builds a DPU program for a version of the chip."""
        return [self.compiler, f"-mcpu={chip}", *flags, "-o", str(output), *map(str, sources)]

    def build(self, sources: Sequence[Path], output: Path, chip: str, flags: Sequence[str]) -> None:
        """Build a DPU program. Raises ToolError with the compiler's message."""
        command = self.command(sources, output, chip, flags)
        tool.run(
            command, what=f"building {output.name}", install_hint=INSTALL_HINT, timeout=_SECONDS
        )

    def host_flags(self) -> tuple[list[str], list[str]]:
        """The flags that compile and those that link host programs. Raises ToolError."""
        return self._ask("--cflags"), self._ask("--libs")

    def _ask(self, what: str) -> list[str]:
        command = [self.pkg_config, what, "dpu"]
        asked = tool.run(command, what="querying the library", install_hint=INSTALL_HINT)
        return shlex.split(asked.stdout)
