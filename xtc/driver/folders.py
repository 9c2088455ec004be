# SPDX-License-Identifier: Apache-2.0
"""Folders that appear whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xtc.core.errors import UserError
from xtc.driver.trust import protect


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill in the block, which becomes `path` at its end unless there was an error.

    Nobody else can write to it then, whatever the umask. Raises UserError where `path` exists or
    cannot be made.
    """
    if path.exists():
        raise UserError(f"{path} exists", hints=["choose another folder, or remove it"])
    try:
        beside = tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UserError(f"cannot make the folder {path}: {error.strerror}") from None
    with beside as temporary:
        filled = Path(temporary, path.name)
        filled.mkdir()
        yield filled
        protect(filled)
        filled.rename(path)
