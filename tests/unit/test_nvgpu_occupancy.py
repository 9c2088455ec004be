# SPDX-License-Identifier: Apache-2.0
"""Blocks per multiprocessor, as in NVIDIA's occupancy calculator."""

from __future__ import annotations

import pytest

from xtc_targets.nvgpu.description import KIB, MACHINES
from xtc_targets.nvgpu.occupancy import resident_blocks


@pytest.mark.parametrize(
    ("arch", "registers", "threads", "shared", "blocks"),
    [
        # Registers: 64 are 2048 a warp, 8 warps in each part; 65 are 2304, 7 warps.
        ("sm_80", 64, 128, 0, 8),
        ("sm_80", 65, 128, 0, 7),
        ("sm_89", 80, 256, 0, 3),
        ("sm_89", 64, 256, 0, 4),
        # 216 are 6912 a warp, 2 warps in each part: 8 in all, although 9 would fit in the whole.
        ("sm_80", 216, 96, 0, 2),
        ("sm_90a", 255, 288, 0, 0),
        # Threads and blocks.
        ("sm_80", 16, 1024, 0, 2),
        ("sm_86", 16, 1024, 0, 1),
        ("sm_86", 16, 32, 0, 16),
        ("sm_89", 16, 32, 0, 24),
        ("sm_90a", 16, 32, 0, 32),
        ("sm_90a", 16, 33, 0, 32),
        # Shared memory, of which the system reserves 1 KiB per block.
        ("sm_80", 32, 128, 163 * KIB, 1),
        ("sm_80", 32, 128, 81 * KIB, 2),
        ("sm_80", 32, 128, 81 * KIB + 1, 1),
        ("sm_86", 32, 128, 49 * KIB, 2),
        ("sm_86", 32, 128, 99 * KIB, 1),
        ("sm_90a", 32, 128, 227 * KIB, 1),
        ("sm_90a", 32, 128, 227 * KIB + 1, 0),
        ("sm_90a", 32, 128, 56 * KIB, 4),
    ],
)
def test_the_number_of_blocks_is_limited_by_each_resource(
    arch: str, registers: int, threads: int, shared: int, blocks: int
) -> None:
    assert resident_blocks(MACHINES[arch], registers, threads, shared) == blocks


@pytest.mark.parametrize(
    ("arch", "registers", "threads", "shared", "blocks"),
    [
        ("sm_80", 191, 928, 5009, 0),
        ("sm_80", 44, 288, 140252, 1),
        ("sm_80", 58, 416, 60108, 2),
        ("sm_80", 100, 160, 45081, 3),
        ("sm_80", 16, 480, 15027, 4),
        ("sm_80", 23, 352, 5009, 5),
        ("sm_80", 226, 32, 20036, 7),
        ("sm_80", 16, 224, 15027, 9),
        ("sm_80", 51, 96, 10018, 12),
        ("sm_86", 233, 864, 35063, 0),
        ("sm_86", 30, 416, 90162, 1),
        ("sm_86", 240, 96, 50090, 2),
        ("sm_86", 44, 160, 30054, 3),
        ("sm_86", 16, 352, 20036, 4),
        ("sm_86", 23, 288, 5009, 5),
        ("sm_86", 51, 160, 5009, 7),
        ("sm_86", 65, 32, 10018, 9),
        ("sm_86", 51, 96, 5009, 12),
        ("sm_89", 156, 608, 90162, 0),
        ("sm_89", 37, 800, 55099, 1),
        ("sm_89", 163, 160, 25045, 2),
        ("sm_89", 23, 160, 25045, 3),
        ("sm_89", 177, 32, 20036, 4),
        ("sm_89", 23, 288, 15027, 5),
        ("sm_89", 51, 160, 0, 7),
        ("sm_89", 121, 32, 10018, 9),
        ("sm_89", 163, 32, 0, 12),
        ("sm_90a", 219, 864, 50090, 0),
        ("sm_90a", 30, 800, 125225, 1),
        ("sm_90a", 247, 96, 95171, 2),
        ("sm_90a", 114, 160, 55099, 3),
        ("sm_90a", 65, 224, 45081, 4),
        ("sm_90a", 16, 352, 10018, 5),
        ("sm_90a", 30, 288, 10018, 7),
        ("sm_90a", 16, 224, 5009, 9),
        ("sm_90a", 163, 32, 15027, 12),
    ],
)
def test_the_number_of_blocks_is_that_of_the_occupancy_header(
    arch: str, registers: int, threads: int, shared: int, blocks: int
) -> None:
    """Results of cudaOccMaxActiveBlocksPerMultiprocessor in cuda_occupancy.h of CUDA 13.5."""
    assert resident_blocks(MACHINES[arch], registers, threads, shared) == blocks
