# SPDX-License-Identifier: Apache-2.0
"""Functions of the header of generated code, and attributes of kernels."""

from __future__ import annotations

DPU, TASKLET = "xtc_dpu", "xtc_tasklet"
"""The number of this DPU among those of the launch, and of this tasklet."""
BARRIER = "xtc_barrier"
LOCAL = "xtc_local"
"""This tasklet's part of WRAM."""
GET, PUT = "xtc_get", "xtc_put"
"""Copy bytes between WRAM and MRAM: address in WRAM, address in MRAM, bytes."""

EACH = "upmem.each"
"""Of a kernel: for each buffer, the bytes that each DPU has of it; 0 where all have it whole."""
WRITTEN = "upmem.written"
"""Of a kernel: for each buffer 0 where it is read, 1 where it is written whole, 2 for both."""

SPACE = 2
"""The memory space of WRAM; buffers in MRAM have another one, or none."""
