# SPDX-License-Identifier: Apache-2.0
"""Tiles of contractions on tensor cores: how they are chosen, and which banks they access."""

from __future__ import annotations

from itertools import product

import pytest

from xtc_targets.nvgpu.description import A100, H100, GpuDescription
from xtc_targets.nvgpu.passes._mma_contraction import Kind
from xtc_targets.nvgpu.passes._mma_tiling import Tiling, choose_tiling
from xtc_targets.nvgpu.passes._panel import CHUNK, Panel, Strided

LINE = 128
TILES = [Tiling(128, 128, 128, 3), Tiling(128, 128, 64, 4), Tiling(64, 64, 128, 3)]
TILES += [Tiling(128, 64, 128, 3), Tiling(32, 32, 128, 3)]


@pytest.mark.parametrize(
    ("machine", "m", "n", "batch", "tile"),
    [
        (H100, 2048, 2048, 1, (128, 128)),
        (H100, 1024, 2048, 1, (128, 128)),
        (H100, 1024, 1024, 1, (128, 64)),
        (H100, 512, 512, 1, (64, 64)),
        (H100, 512, 512, 32, (128, 128)),
        (H100, 100, 100, 1, (32, 32)),
        (A100, 4096, 4096, 1, (128, 128)),
        (A100, 2048, 2048, 1, (128, 64)),
        (A100, 17, 8000, 1, (32, 32)),
    ],
)
def test_tiles_are_chosen_by_what_the_busiest_sm_does(
    machine: GpuDescription, m: int, n: int, batch: int, tile: tuple[int, int]
) -> None:
    chosen = choose_tiling(m, n, batch, machine.sms, machine.shared_bytes_sm)
    assert (chosen.m, chosen.n) == tile
    assert chosen.shared_bytes <= machine.shared_bytes_block


def panel(tiling: Tiling, nbytes: int, along_k: bool) -> Panel:
    """A's part of a tile; its location in global memory does not matter here."""
    stride, k_stride = (4096, 1) if along_k else (1, 4096)
    source = Strided(None, 4096, stride, 4096, k_stride, CHUNK)  # type: ignore[arg-type]
    kind = Kind("f16" if nbytes == 2 else "tf32", nbytes)
    return Panel(source, kind, tiling.m, tiling.k_bytes, first=0, offset=0)


def offsets(tile: Panel, rows: range, chunks: range) -> list[int]:
    """Where chunks of a tile are; numbers that are known need no code, so no context."""
    found = [tile.chunk_offset(row, chunk) for row, chunk in product(rows, chunks)]
    assert all(isinstance(offset, int) for offset in found)
    return [offset for offset in found if isinstance(offset, int)]


@pytest.mark.parametrize("nbytes", [2, 4])
@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize("tiling", TILES)
def test_chunks_do_not_overlap(tiling: Tiling, along_k: bool, nbytes: int) -> None:
    tile = panel(tiling, nbytes, along_k)
    found = offsets(tile, range(tile.rows), range(tile.row_bytes // CHUNK))
    assert sorted(found) == list(range(0, tiling.m * tiling.k_bytes, CHUNK))


@pytest.mark.slow
@pytest.mark.parametrize("nbytes", [2, 4])
@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize("tiling", TILES)
def test_what_is_accessed_together_meets_each_bank_once(
    tiling: Tiling, along_k: bool, nbytes: int
) -> None:
    """A matrix of ldmatrix is 8 rows of a chunk; where there is none, 4 rows of 2 chunks are read.

    8 lanes of cp.async write 8 chunks of a row, or of two.
    """
    tile = panel(tiling, nbytes, along_k)
    chunks = tile.row_bytes // CHUNK
    rows, columns = (8, 1) if tile.by_matrices else (4, 2)
    for row in range(0, tile.rows, rows):
        for chunk in range(0, chunks, columns):
            found = offsets(tile, range(row, row + rows), range(chunk, chunk + columns))
            assert sorted(offset % LINE for offset in found) == list(range(0, LINE, CHUNK))
    written = offsets(tile, range(tile.rows), range(chunks))
    for first in range(0, len(written), 8):
        lines = [offset % LINE for offset in written[first : first + 8]]
        assert sorted(lines) == list(range(0, LINE, CHUNK))
