# SPDX-License-Identifier: Apache-2.0
"""The key of a cache entry: a hash of everything that shapes it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

SCHEMA = 1
"""The version of keys and of the format of entries; a new number invalidates old entries."""

_KEY = re.compile(r"[0-9a-f]{64}")


def cache_key(parts: Mapping[str, str | bytes]) -> str:
    """SHA-256 of the named parts, in hexadecimal; the order of the mapping does not matter."""
    digest = hashlib.sha256(f"xtc cache {SCHEMA}\n".encode())
    for name in sorted(parts):
        value = parts[name]
        kind = "text" if isinstance(value, str) else "bytes"
        content = value.encode() if isinstance(value, str) else value
        digest.update(f"{len(name.encode())} {name} {kind} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def is_key(text: str) -> bool:
    """Whether `text` has the form of a key."""
    return _KEY.fullmatch(text) is not None
