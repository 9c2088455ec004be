# SPDX-License-Identifier: Apache-2.0
"""Tiles of contractions on tensor cores: selection, and bank accesses."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from xtc_targets.nvgpu.description import A100, H100, GpuDescription
from xtc_targets.nvgpu.passes._contractions.mma_operand import PAIR_OF_CHUNKS
from xtc_targets.nvgpu.passes._contractions.mma_tiling import Tiling, choose_tiling
from xtc_targets.nvgpu.passes._tiles.shared_memory import CHUNK, SharedView

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
def test_tiles_minimize_the_work_of_the_busiest_sm(
    machine: GpuDescription, m: int, n: int, batch: int, tile: tuple[int, int]
) -> None:
    chosen = choose_tiling(m, n, batch, machine.sms, machine.shared_bytes_sm)
    assert (chosen.m, chosen.n) == tile
    assert chosen.shared_bytes <= machine.shared_bytes_block


def tile(tiling: Tiling, nbytes: int, along_k: bool) -> SharedView:
    """A's part of a tile in shared memory, whose address is irrelevant here."""
    k = tiling.k_bytes // nbytes
    shape = (tiling.m, k) if along_k else (k, tiling.m)
    chunk = CHUNK if by_matrices(nbytes, along_k) else PAIR_OF_CHUNKS
    row_bytes = shape[1] * nbytes
    element: Any = SimpleNamespace(width=8 * nbytes)
    base: Any = None
    return SharedView(base, 0, 0, shape, (shape[1], 1), element, row_bytes, chunk_bytes=chunk)


def by_matrices(nbytes: int, along_k: bool) -> bool:
    """Whether ldmatrix loads the operand: it transposes 16 bits, not 32."""
    return along_k or nbytes == 2


def offsets(view: SharedView, rows: range, chunks: range) -> list[int]:
    """The offsets of chunks of a tile; known numbers generate no code, so no context is needed."""
    found = [view.swizzled(row * view.row_bytes + c * CHUNK) for row, c in product(rows, chunks)]
    assert all(isinstance(offset, int) for offset in found)
    return [offset for offset in found if isinstance(offset, int)]


@pytest.mark.parametrize("nbytes", [2, 4])
@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize("tiling", TILES)
def test_chunks_do_not_overlap(tiling: Tiling, along_k: bool, nbytes: int) -> None:
    view = tile(tiling, nbytes, along_k)
    found = offsets(view, range(view.shape[0]), range(view.row_bytes // CHUNK))
    assert sorted(found) == list(range(0, tiling.m * tiling.k_bytes, CHUNK))


@pytest.mark.slow
@pytest.mark.parametrize("nbytes", [2, 4])
@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize("tiling", TILES)
def test_concurrent_accesses_are_free_of_bank_conflicts(
    tiling: Tiling, along_k: bool, nbytes: int
) -> None:
    """A matrix of ldmatrix is 8 rows of a chunk; without ldmatrix, 4 rows of 2 chunks are read.

    8 lanes of cp.async write 8 chunks of a row, or of two.
    """
    view = tile(tiling, nbytes, along_k)
    chunks = view.row_bytes // CHUNK
    rows, columns = (8, 1) if by_matrices(nbytes, along_k) else (4, 2)
    for row in range(0, view.shape[0], rows):
        for chunk in range(0, chunks, columns):
            found = offsets(view, range(row, row + rows), range(chunk, chunk + columns))
            assert sorted(offset % LINE for offset in found) == list(range(0, LINE, CHUNK))
    written = offsets(view, range(view.shape[0]), range(chunks))
    for first in range(0, len(written), 8):
        lines = [offset % LINE for offset in written[first : first + 8]]
        assert sorted(lines) == list(range(0, LINE, CHUNK))


@pytest.mark.parametrize("row_bytes", [32, 64, 128])
def test_stored_matrices_are_free_of_bank_conflicts(row_bytes: int) -> None:
    """stmatrix writes 8 rows of 16 bytes at a time, of results in rows or panels of them."""
    element: Any = SimpleNamespace(width=16)
    base: Any = None
    shape = (64, row_bytes // 2)
    view = SharedView(base, 0, 0, shape, (shape[1], 1), element, row_bytes)
    for row in range(0, 64, 8):
        for chunk in range(row_bytes // CHUNK):
            found = offsets(view, range(row, row + 8), range(chunk, chunk + 1))
            assert sorted(offset % LINE for offset in found) == list(range(0, LINE, CHUNK))
