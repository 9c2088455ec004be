# SPDX-License-Identifier: Apache-2.0
"""The cache configured by environment variables."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from xtc.core import knobs
from xtc.system.cache.store import ArtifactCache


def configured_cache() -> ArtifactCache:
    """The cache in XTC_CACHE_DIR or in the user's cache folder; creates nothing."""
    chosen = knobs.CACHE_DIR.get()
    root = chosen or Path(platformdirs.user_cache_dir("xtc", appauthor=False), "artifacts")
    return ArtifactCache(root.absolute(), knobs.CACHE_LIMIT.get())
