# SPDX-License-Identifier: Apache-2.0
"""Creates folders atomically."""

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

_SHOWN = 50  # characters of the name in that of the temporary folder: lengths are limited


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that is renamed to `path` at the end of the block, unless there is an
    error.

    Only the user can write to it, whatever the umask. Raises UserError if `path` exists or cannot
    be created.
    """
    try:
        if path.exists():
            raise UserError(f"{path} exists", hints=["choose another folder, or delete this one"])
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
    """A copy of the artifact in a temporary folder that `resources` removes.

    The system's loader would return the same library for two loads of one file.
    """
    if artifact.folder is None:
        return artifact
    folder = Path(resources.enter_context(private_folder("copy-")), "artifact")
    shutil.copytree(artifact.folder, folder)
    return replace(artifact, folder=folder)


def _cannot_make(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot create the folder {path}: {error.strerror}")
