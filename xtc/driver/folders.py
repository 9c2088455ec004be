# SPDX-License-Identifier: Apache-2.0
"""Folders that appear whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from xtc.core.errors import UserError
from xtc.driver.trust import protect
from xtc.interfaces.artifact import Artifact
from xtc.system.workspace import private_folder

_SHOWN = 50  # characters of the name in that of the temporary folder: names have a longest length


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill in the block, which becomes `path` at its end unless there was an error.

    Nobody else can write to it then, whatever the umask. Raises UserError if `path` exists or
    cannot be made.
    """
    try:
        if path.exists():
            raise UserError(f"{path} exists", hints=["choose another folder, or remove it"])
        beside = tempfile.TemporaryDirectory(prefix=f".{path.name[:_SHOWN]}.", dir=path.parent)
    except OSError as error:
        raise _cannot_make(path, error) from None
    with beside as temporary:
        filled = Path(temporary, "filled")
        filled.mkdir()
        yield filled
        protect(filled)
        try:
            filled.rename(path)
        except OSError as error:
            raise _cannot_make(path, error) from None


def separate_copy(artifact: Artifact, resources: ExitStack) -> Artifact:
    """The artefact in a temporary folder that goes with `resources`.

    The system's loader takes two loads of one file for one.
    """
    if artifact.folder is None:
        return artifact
    folder = Path(resources.enter_context(private_folder("copy-")), "artifact")
    shutil.copytree(artifact.folder, folder)
    return replace(artifact, folder=folder)


def _cannot_make(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot make the folder {path}: {error.strerror}")
