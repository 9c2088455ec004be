# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""The host, a GPU and an MPPA in one graph: what one writes and another reads goes by the host."""

import xtc
import xtc.ops as O
from xtc_targets.mppa import MppaDevice, MppaOptions
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

shuffled = NvgpuOptions(arch="sm_80", sim_schedule="shuffled")
with NvgpuDevice(shuffled) as gpu, MppaDevice(MppaOptions(clusters=3)) as mppa:
    a = O.tensor((32, 48), name="A")
    b = O.tensor((48, 16), name="B", device=gpu)
    with O.graph(name="relay") as gb:
        product = O.matmul(a, b, name="P", device=gpu)
        total = O.reduce_sum(O.exp(O.tanh(product), device=mppa), axes=(1,), name="T", device=mppa)
        O.outputs(O.relu(total, name="R", device=gpu), O.neg(product, name="N"))

    with xtc.compile(gb.graph) as module:
        for comparison in module.check():
            print(comparison)
        # CHECK: R: all 32 elements agree
        # CHECK: N: all 512 elements agree
        print(*sorted(module.devices))
        # CHECK: mppa0 nvgpu0
    print(gpu.memory_info()[0], mppa.memory_info()[0])
    # CHECK: 0 0
