# SPDX-License-Identifier: Apache-2.0
"""An on-disk cache of built artifacts, addressed by a hash of their inputs.

It is independent of artifacts: an entry is a folder of files under a key.
"""

from xtc.system.cache.cache_folder import CacheWarning
from xtc.system.cache.canonical import NoCanonicalFormError, canonical_text
from xtc.system.cache.configured import configured_cache
from xtc.system.cache.fingerprint import CodeFingerprint, NoFingerprintError, code_fingerprint
from xtc.system.cache.key import cache_key
from xtc.system.cache.store import ArtifactCache, Entry, Removed

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
