# SPDX-License-Identifier: Apache-2.0
"""Names of functions in the header of generated code, and of attributes of kernels."""

from __future__ import annotations

DPU, TASKLET = "xtc_dpu", "xtc_tasklet"
"""The number of this DPU in the launch, and the number of this tasklet."""
BARRIER = "xtc_barrier"
LOCAL = "xtc_local"
"""This tasklet's part of WRAM."""
GET, PUT = "xtc_get", "xtc_put"
"""Copy bytes between WRAM and MRAM: address in WRAM, address in MRAM, bytes."""

EACH = "upmem.each"
"""An attribute of a kernel: for each buffer, its bytes on each DPU; 0 if it is replicated."""
WRITTEN = "upmem.written"
"""An attribute of a kernel: for each buffer 0 if read, 1 if written whole, 2 for both."""

SPACE = 2
"""The memory space of WRAM; buffers in MRAM have another one, or none."""
