# SPDX-License-Identifier: Apache-2.0
"""The SDK's module of DPU sets: `dpu.driver.DpuSet`; `driver.allocate(2)` is the API of 2020."""

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
    """Allocate DPUs as a set. Raises DpuError if that fails."""
    return DpuSet(nr_dpus=nr_dpus, profile=profile)


def allocate_ranks(nr_ranks: int = ALLOCATE_ALL, profile: str = "") -> DpuSet:
    """Allocate ranks of 64 DPUs as a set. Raises DpuError if that fails."""
    return DpuSet(nr_ranks=nr_ranks, profile=profile)
