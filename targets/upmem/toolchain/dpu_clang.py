# SPDX-License-Identifier: Apache-2.0
"""The program `dpu-upmem-dpurte-clang`: compiles for the simulator with the vendor's interface."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from xtc.core import knobs
from xtc.core.errors import XtcError
from xtc_targets.upmem.description import profile_named
from xtc_targets.upmem.toolchain.clang import DpuClang
from xtc_targets.upmem.toolchain.command_line import read_command_line
from xtc_targets.upmem.toolchain.program import build


def main(words: Sequence[str]) -> int:
    """Compile with these arguments; returns the exit code."""
    try:
        if "--version" in words:
            print(DpuClang.found().version)
            return 0
        profile = knobs.UPMEM_PROFILE.get()
        build(read_command_line(words), profile_named(profile) if profile else None)
    except XtcError as error:
        sys.stderr.write(f"dpu-upmem-dpurte-clang: error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
