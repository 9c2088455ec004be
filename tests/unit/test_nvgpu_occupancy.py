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
