# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
# RUN: xtc-compile %s --stage source | FileCheck %s --check-prefix=SOURCE
# RUN: xtc-compile %s --stage offloaded | FileCheck %s --check-prefix=OFFLOADED
"""A is on the host, B and C are on the GPU: A travels, 256 bytes, and nothing else does."""

import numpy as np

import xtc
import xtc.ops as O
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

gpu = NvgpuDevice(NvgpuOptions(sim_schedule="shuffled"))

rows, columns, depth = 4, 8, 16
a = O.tensor((rows, depth), "float32", name="A")  # lives on the host
b = O.tensor((depth, columns), "float32", name="B", device=gpu)  # lives on the GPU
with O.graph(name="matmul") as gb:
    O.matmul(a, b, name="C", device=gpu)  # is computed there, and stays there
graph = gb.graph

schedule = xtc.Schedule(graph)
c = schedule["C"]
c.tile("i", {"i1": 2})
c.parallelize("i")

# SOURCE: func.func @matmul(%arg0: memref<4x16xf32> {llvm.noalias},
# SOURCE-SAME: %arg1: memref<16x8xf32> {llvm.noalias, memref.on_device},
# SOURCE-SAME: %arg2: memref<4x8xf32> {llvm.noalias, memref.on_device})

# Only A is allocated and copied, before the matmul begins; nothing is copied back.
# OFFLOADED:      func.func @matmul(%[[A:.*]]: memref<4x16xf32> {llvm.noalias}, %[[B:.*]]: memref<16x8xf32, 1> {llvm.noalias, memref.on_device}, %[[C:.*]]: memref<4x8xf32, 1> {llvm.noalias, memref.on_device})
# OFFLOADED:        %[[THERE:.*]] = memref.alloc() {xtc.device = "nvgpu0"} : memref<4x16xf32, 1>
# OFFLOADED:        memref.copy %[[A]], %[[THERE]] {xtc.device = "nvgpu0"
# OFFLOADED:        call @matmul.nvgpu0.{{[0-9]+}}(%[[THERE]], %[[B]], %[[C]]) {xtc.device = "nvgpu0"}
# OFFLOADED-NOT:    memref.copy
# OFFLOADED:        memref.dealloc %[[THERE]] {xtc.device = "nvgpu0"}
# OFFLOADED-NEXT:   return

if __name__ == "__main__":
    with gpu, xtc.compile(graph, target=gpu, schedule=schedule) as module:
        print(schedule)
        # CHECK: for i in 0..4 step 2  // parallelize
        print(module.check()[0])
        # CHECK: C: all 32 elements agree

        before = gpu.counters()
        left, right = np.ones((rows, depth), np.float32), np.ones((depth, columns), np.float32)
        result = module(left, there := gpu.array(right))
        after = gpu.counters()
        print("in:", int(after["nvgpu.H2D_BYTES"] - before["nvgpu.H2D_BYTES"]) - there.nbytes)
        print("out:", int(after["nvgpu.D2H_BYTES"] - before["nvgpu.D2H_BYTES"]))
        print(result, result.numpy().sum())
        # CHECK: in: 256
        # CHECK: out: 0
        # CHECK: <device array 4x8xfloat32 on nvgpu0> 512.0
    print(gpu)
    # CHECK: <nvgpu0, closed>
