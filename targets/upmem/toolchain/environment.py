# SPDX-License-Identifier: Apache-2.0
"""The environment in which DPU programs are built and run as with the vendor's SDK."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from xtc.core import knobs
from xtc_targets.upmem.toolchain.dpu_pkg_config import VERSION
from xtc_targets.upmem.toolchain.folders import INCLUDE, OWN_CSRC
from xtc_targets.upmem.toolchain.library import built_library

PYTHON_PATH = Path(__file__).parents[1] / "python"
_COMPILERS = ("dpu-upmem-dpurte-clang", "dpu-clang")
_TOOLCHAIN = Path(__file__).parent
_INTERPRETERS = ("python3", "python")
"""The names of Python for programs that import `dpu`: this interpreter has the dependencies."""


def environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Variables for programs that use DPUs; `folder` gets the layout of the vendor's SDK.

    Args:
        folder: an empty folder for UPMEM_HOME, which must exist while the environment is in use.
        settings: `XTC_UPMEM_...` variables of the host's library.
    """
    library = built_library()
    _lay_out(folder, library)
    inherited = knobs.inherited_environment()
    added = {
        "PATH": str(folder / "bin"),
        "PKG_CONFIG_PATH": str(folder / "share" / "pkgconfig"),
        "LD_LIBRARY_PATH": str(library),
        "LIBRARY_PATH": str(library),
        "C_INCLUDE_PATH": str(INCLUDE),
        "CPLUS_INCLUDE_PATH": str(INCLUDE),
        "PYTHONPATH": str(PYTHON_PATH),
    }
    joined = {
        name: os.pathsep.join(filter(None, [value, inherited.get(name)]))
        for name, value in added.items()
    }
    return {
        **inherited,
        **joined,
        "UPMEM_HOME": str(folder),
        "XTC_UPMEM_LIBRARY": str(library),
        **settings,
    }


def _lay_out(folder: Path, library: Path) -> None:
    """Place programs, headers and library where Makefiles expect them below UPMEM_HOME."""
    programs, described = folder / "bin", folder / "share" / "pkgconfig"
    for part in (programs, described, folder / "include"):
        part.mkdir(parents=True)
    (folder / "include" / "dpu").symlink_to(INCLUDE)
    (folder / "lib").symlink_to(library)
    roots = [root for root in sys.path if root]
    for name in _COMPILERS:
        _write_program(programs / name, roots, "xtc_targets.upmem.toolchain.dpu_clang")
    _write_program(
        programs / "clang", roots, "xtc_targets.upmem.toolchain.any_clang", str(programs)
    )
    for name in _INTERPRETERS:
        _make_program(programs / name, f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    _lay_out_cmake(folder / "share" / "upmem" / "cmake")
    folders = (str(INCLUDE), str(library))
    _write_program(programs / "dpu-pkg-config", [str(_TOOLCHAIN)], "dpu_pkg_config", *folders)
    (described / "dpu.pc").write_text(
        f"Name: dpu\nDescription: DPUs\nVersion: {VERSION}\n"
        f"Cflags: -I{INCLUDE}\nLibs: -L{library} -ldpu\n"
    )


def _lay_out_cmake(folder: Path) -> None:
    """Place the SDK's CMake files where projects include them from."""
    host = folder / "include" / "host"
    host.mkdir(parents=True)
    (folder / "dpu.cmake").symlink_to(OWN_CSRC / "cmake" / "dpu.cmake")
    (host / "DpuHost.cmake").symlink_to(OWN_CSRC / "cmake" / "DpuHost.cmake")


def _write_program(path: Path, roots: Sequence[str], module: str, *arguments: str) -> None:
    """Write a script that calls `main` of a module with this Python, from any folder."""
    text = (
        f"#!{sys.executable}\n"
        "import sys\n"
        f"sys.path[1:1] = {list(roots)!r}\n"
        f"from {module} import main\n"
        f"sys.exit(main(sys.argv[1:], *{arguments!r}))\n"
    )
    _make_program(path, text)


def _make_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
