# SPDX-License-Identifier: Apache-2.0
"""Trust checks: loading an artifact runs its code, so only this user may have written it."""

from __future__ import annotations

from pathlib import Path

from xtc.core.errors import ArtifactError, UserError
from xtc.system.ownership import foreign_reason

_WRITE_BY_OTHERS = 0o022


def check_trusted(folder: Path) -> None:
    """Raise UserError if a user other than the caller and root could have written the artifact."""
    for path in (folder, *_files(folder)):
        reason = foreign_reason(path.stat(), allow_root=True)
        if reason is not None:
            raise UserError(
                "another user may have written this artifact, and loading it would run its code",
                where=folder,
                notes=[f"{path}: {reason}"],
                hints=[
                    "if it is yours: chmod -R go-w on the folder",
                    "if you trust who wrote it: xtc.load(folder, trust=True)",
                ],
            )


def protect(folder: Path) -> None:
    """Remove other users' write permissions from an artifact's files, whatever the umask."""
    for path in (folder, *_files(folder)):
        path.chmod(path.stat().st_mode & ~_WRITE_BY_OTHERS)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise ArtifactError(f"no artifact here: {error}", where=folder) from None
