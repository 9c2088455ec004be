# SPDX-License-Identifier: Apache-2.0
"""A cache of built artefacts on disk, addressed by what they were built from.

Nothing here knows what an artefact is: an entry is a folder of files under a key.
"""

from xtc.core.cache.canonical import NoCanonicalFormError, canonical_text
from xtc.core.cache.configured import configured_cache
from xtc.core.cache.fingerprint import CodeFingerprint, NoFingerprintError, code_fingerprint
from xtc.core.cache.key import cache_key
from xtc.core.cache.place import CacheWarning
from xtc.core.cache.store import ArtifactCache, Entry, Removed

__all__ = [
    "ArtifactCache",
    "CacheWarning",
    "CodeFingerprint",
    "Entry",
    "NoCanonicalFormError",
    "NoFingerprintError",
    "Removed",
    "cache_key",
    "canonical_text",
    "code_fingerprint",
    "configured_cache",
]
