# SPDX-License-Identifier: Apache-2.0
"""The SDK's program `clang`: the DPU compiler for the DPU target, else the system's compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from xtc.core import knobs
from xtc_targets.upmem.toolchain import dpu_clang

_TARGET = "dpu-upmem-dpurte"


def main(words: Sequence[str], own: str) -> int:
    """Compile with these arguments; returns the exit code.

    Args:
        words: arguments of the command line.
        own: the SDK's folder of programs, which is skipped in the search for the system's compiler.
    """
    if any(word.endswith(_TARGET) for word in words):
        return dpu_clang.main(words)
    inherited = knobs.inherited_environment()
    folders = inherited.get("PATH", "").split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if folder != own)
    system = shutil.which("clang", path=path)
    if system is None:
        sys.stderr.write(f"clang: error: no clang beside the one for --target={_TARGET}\n")
        return 127
    done = subprocess.run([system, *words], env={**inherited, "PATH": path}, check=False)  # noqa: S603
    return done.returncode
