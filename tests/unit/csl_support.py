# SPDX-License-Identifier: Apache-2.0
"""Programs of CSL in tests: compiled by `cslc`'s own code, run by commands as a user would."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from xtc_targets.wse.build import Request, compile_program
from xtc_targets.wse.description import ARCHITECTURES
from xtc_targets.wse.sdk import cs_python
from xtc_targets.wse.sdk import settings as given_settings

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
    """A layout that gives all PEs the same code, with additional lines and parameters."""
    return LAYOUT.format(width=width, height=height, params=params, more=more)


def compiled(folder: Path, files: Mapping[str, str], arch: str = "wse3", **given: str) -> Path:
    """Write the files and compile `layout.csl`; returns the output folder."""
    for name, text in files.items():
        (folder / name).write_text(text)
    out = folder / f"out_{arch}"
    compile_program(Request(folder / "layout.csl", out, ARCHITECTURES[arch], given))
    return out


def run_here(
    arguments: Sequence[str], folder: Path, patch: pytest.MonkeyPatch, **settings: object
) -> None:
    """Run `cs_python` in `folder` within this process, which builds the simulator once."""
    patch.chdir(folder)
    patch.setattr(sys, "argv", list(sys.argv))
    patch.setattr(sys, "path", list(sys.path))
    patch.setattr(given_settings, "_given", dict(settings))
    assert cs_python.main(arguments) == 0
