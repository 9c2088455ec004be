# SPDX-License-Identifier: Apache-2.0
"""Programs of CSL in tests: compiled by `cslc`'s own code, run by commands as a user would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from xtc_targets.wse.build import Request, compile_program
from xtc_targets.wse.description import ARCHITECTURES

HEAD = """
param memcpy_params;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
"""
LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{{ .width = {width}, .height = {height} }});
layout {{
  @set_rectangle({width}, {height});
  for (@range(u16, {width})) |x| {{ for (@range(u16, {height})) |y| {{
    @set_tile_code(x, y, "pe.csl", .{{ .memcpy_params = memcpy.get_params(x){params} }});
  }} }}
  {more}
  @export_name("main", fn()void);
}}
"""


def layout(more: str = "", params: str = "", width: int = 1, height: int = 1) -> str:
    """A layout that gives all PEs the same code, with further lines and parameters."""
    return LAYOUT.format(width=width, height=height, params=params, more=more)


def compiled(folder: Path, files: Mapping[str, str], arch: str = "wse3", **given: str) -> Path:
    """Write the files and compile `layout.csl`; returns the output folder."""
    for name, text in files.items():
        (folder / name).write_text(text)
    out = folder / f"out_{arch}"
    compile_program(Request(folder / "layout.csl", out, ARCHITECTURES[arch], given))
    return out


def command(name: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `cslc` or `cs_python` as the commands of their names do."""
    words = [sys.executable, "-m", f"xtc_targets.wse.sdk.{name}", *arguments]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)
