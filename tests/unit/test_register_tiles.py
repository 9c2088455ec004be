# SPDX-License-Identifier: Apache-2.0
"""Register tiles have at most as many rows as the first-level cache can hold simultaneously."""

from __future__ import annotations

import pytest

from xtc_targets.host.passes._register_tiles import MAX_ROWS, Processor, rows_side_by_side


@pytest.mark.parametrize(
    ("step", "rows"), [(4096, 8), (8192, 8), (12288, 8), (3072, 32), (2048, 16), (4096 + 64, 512)]
)
def test_rows_in_the_same_sets_are_limited(step: int, rows: int) -> None:
    assert rows_side_by_side(step) == rows


def test_the_cache_does_not_limit_contiguous_rows() -> None:
    assert rows_side_by_side(0) >= MAX_ROWS


def test_a_tile_has_at_most_the_allowed_rows() -> None:
    processor = Processor(512, 32, 32 << 10, 1 << 20, parallel=False)
    assert processor.tile(128, [2])[0] > 8
    assert processor.tile(128, [2], 8) == (8, 2)
    assert processor.tile(4, [2], 8) == (4, 2)
