# SPDX-License-Identifier: Apache-2.0
"""Reads the reports that `xtc upmem run --report FILE` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xtc.core.errors import ArtifactError, UserError

_PARTS = ("launches", "transfers", "events", "lines")


def read_report(path: Path) -> dict[str, list[dict[str, Any]]]:
    """A report. Raises UserError for a missing file, and ArtifactError for an invalid one."""
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        raise UserError(
            f"there is no file {path}", hints=[f"xtc upmem run --report {path} ... writes it"]
        ) from None
    except ValueError as error:
        raise ArtifactError("it is not a report", where=path, notes=[str(error)]) from None
    if not isinstance(found, dict) or any(part not in found for part in _PARTS):
        raise ArtifactError("it is not a report of xtc upmem run", where=path)
    return found
