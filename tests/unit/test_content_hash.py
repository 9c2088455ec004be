# SPDX-License-Identifier: Apache-2.0
"""The hash of large contents."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from xtc.system import content_hash as hashes
from xtc.system.content_hash import content_hash


def test_the_hash_of_no_bytes_is_the_published_one() -> None:
    expected = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    pytest.importorskip("blake3", reason="needs the package blake3")
    assert content_hash(b"") == f"blake3:{expected}"


def test_every_bit_affects_the_hash() -> None:
    array = np.zeros(1 << 16, np.uint8)
    seen = {content_hash(array.data), content_hash(array.data[:-1])}
    for position in (0, 1023, 1024, 65535):
        array[position] ^= 1
        seen.add(content_hash(array.data))
    assert len(seen) == 6


def test_the_fallback_hash_names_its_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "blake3", None)
    assert content_hash(b"xtc") == f"sha256:{hashlib.sha256(b'xtc').hexdigest()}"
