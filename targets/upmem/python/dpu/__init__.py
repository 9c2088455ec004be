# SPDX-License-Identifier: Apache-2.0
"""Sets of DPUs: `from dpu import DpuSet, ALLOCATE_ALL`."""

from xtc_targets.upmem.dpu_set import (
    ALLOCATE_ALL,
    DpuContext,
    DpuError,
    DpuProgram,
    DpuSet,
    DpuSymbol,
)

__all__ = ["ALLOCATE_ALL", "DpuContext", "DpuError", "DpuProgram", "DpuSet", "DpuSymbol"]
