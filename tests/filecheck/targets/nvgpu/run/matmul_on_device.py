# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""A is on the host, B and C are on the GPU: A alone is copied, before the product begins."""

import xtc
import xtc.ops as O
from xtc_targets.nvgpu import NvgpuConfig, NvgpuDevice

gpu = NvgpuDevice(NvgpuConfig(sim_schedule="shuffled"))
a = O.tensor((4, 16), "float32", name="A")
b = O.tensor((16, 8), "float32", name="B", device=gpu)
with O.graph(name="matmul") as graph:
    O.matmul(a, b, name="C", device=gpu)

with xtc.compile(graph, target=gpu) as module:
    module.check()
    counters = gpu.counters()
    for name in ("H2D_COPIES", "H2D_BYTES", "LAUNCHES", "THREADS", "GLOBAL_WRITES"):
        print(name, int(counters[f"nvgpu.{name}"]))
gpu.close()

# B once, as the check puts it on the GPU, and A.
# CHECK:      H2D_COPIES 2
# CHECK-NEXT: H2D_BYTES 768
# Zeros are written to C by a kernel of their own, and each sum goes through memory.
# CHECK-NEXT: LAUNCHES 2
# CHECK-NEXT: THREADS 64
# CHECK-NEXT: GLOBAL_WRITES
