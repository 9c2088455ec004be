# SPDX-License-Identifier: Apache-2.0
"""The output folder of cslc, which only a simulator of the same version can run."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError

LIBRARY, OUT_JSON, ABOUT = "program.so", "out.json", "xtc.json"
"""The files in an output folder."""

_CSRC = Path(__file__).parent / "csrc"
_FORMAT = "format"


@functools.cache
def output_format() -> str:
    """The version of the format: a hash of the sources that write and read it."""
    sources = [*sorted(_CSRC.glob("*.[ch]")), Path(__file__).with_name("image.py")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def write_about(folder: Path, about: Mapping[str, object]) -> None:
    """Write the description of a program for the host side to `folder`."""
    (folder / ABOUT).write_text(json.dumps({_FORMAT: output_format(), **about}))


def read_about(folder: Path) -> dict[str, Any]:
    """Read the description of the program in `folder` for the host side.

    Raises UserError if the folder is not an output of cslc, is damaged, or has another version.
    """
    about = folder / ABOUT
    if not about.is_file():
        raise UserError(
            f"{folder} is not an output folder of cslc", hints=["cslc layout.csl ... -o out"]
        )
    try:
        found: Any = json.loads(about.read_text())
    except ValueError as error:
        raise UserError(f"{about} is damaged", notes=[str(error)], hints=[_AGAIN]) from None
    if not isinstance(found, dict) or found.get(_FORMAT) != output_format():
        raise UserError(f"{folder} was written by another version of cslc", hints=[_AGAIN])
    return found


_AGAIN = "compile the program again"
