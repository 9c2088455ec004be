# SPDX-License-Identifier: Apache-2.0
"""Sets of DPUs by the kit's module: `dpu.driver.DpuSet`; `driver.allocate(2)` is of 2020."""

from __future__ import annotations

from xtc_targets.upmem.dpu_set import (
    ALLOCATE_ALL,
    DpuContext,
    DpuError,
    DpuProgram,
    DpuSet,
    DpuSymbol,
)

__all__ = [
    "ALLOCATE_ALL",
    "DpuContext",
    "DpuError",
    "DpuProgram",
    "DpuSet",
    "DpuSymbol",
    "allocate",
    "allocate_ranks",
]


def allocate(nr_dpus: int = ALLOCATE_ALL, profile: str = "") -> DpuSet:
    """DPUs as a set. Raises DpuError where they cannot be had."""
    return DpuSet(nr_dpus=nr_dpus, profile=profile)


def allocate_ranks(nr_ranks: int = ALLOCATE_ALL, profile: str = "") -> DpuSet:
    """Ranks of 64 DPUs as a set. Raises DpuError where they cannot be had."""
    return DpuSet(nr_ranks=nr_ranks, profile=profile)
