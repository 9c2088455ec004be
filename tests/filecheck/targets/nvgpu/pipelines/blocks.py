# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s scheduled | FileCheck %s --check-prefix=SCHEDULED
# RUN: %python %s offloaded | FileCheck %s --check-prefix=OFFLOADED
# RUN: %python %s code | FileCheck %s --check-prefix=PTX
"""A schedule of two levels: outer loops are blocks, inner ones threads, packed tiles are shared."""

import sys

import xtc
import xtc.ops as O
from xtc.driver import prepare
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

gpu = NvgpuDevice(NvgpuOptions(platform="hw", arch="sm_90a"))
a = O.tensor((256, 64), name="A", device=gpu)
b = O.tensor((64, 512), name="B", device=gpu)
with O.graph(name="f") as graph:
    O.matmul(a, b, name="C", device=gpu)

schedule = xtc.Schedule(graph.graph)
C = schedule["C"]
C.tile("i", {"i1": 64, "i2": 8}).tile("j", {"j1": 128, "j2": 4}).tile("k", {"k1": 16})
C.interchange(["i", "j", "k", "i1", "j1", "k1", "i2", "j2"])
C.parallelize(["i", "j"]).pack_at("k", 0).pack_at("k", 1).parallelize(["i1", "j1"])
C.unroll({"k1": 4, "i2": 8}).vectorize(["j2"])
if sys.argv[1] == "scheduled":
    print(schedule)
print(prepare(graph.graph, target=gpu, schedule=schedule).stage_text(sys.argv[1]))

# SCHEDULED:      for i in 0..256 step 64  // parallelize
# SCHEDULED-NEXT:   for j in 0..512 step 128  // parallelize
# SCHEDULED-NEXT:     for k in 0..64 step 16  // pack 0, pack 1
# SCHEDULED-NEXT:       for i1 in 0..64 step 8  // parallelize
# SCHEDULED-NEXT:         for j1 in 0..128 step 4  // parallelize

# SCHEDULED:      scf.forall {{.*}} in (4, 4)
# SCHEDULED:        scf.for
# SCHEDULED-COUNT-2:  bufferization.alloc_tensor() copy
# SCHEDULED:          scf.forall {{.*}} in (8, 32)
# SCHEDULED:          mapping = [#gpu.thread<linear_dim_1>, #gpu.thread<linear_dim_0>]
# SCHEDULED:        mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]

# The second kernel; the first writes zeros. 64 x 16 and 16 x 128 elements are shared; a thread has
# the 8 x 4 sums in registers.
# OFFLOADED:       func.func @f.nvgpu0.1(
# OFFLOADED-SAME:    nvgpu.block = array<i64: 256, 1, 1>, nvgpu.grid = array<i64: 16, 1, 1>
# OFFLOADED-SAME:    nvgpu.shared_bytes = 12288
# OFFLOADED-COUNT-8: vector.load %arg2{{.*}} {alignment = 16 : i64} : memref<256x512xf32, 1>, vector<4xf32>
# The first tiles; those of the next iteration are loaded while threads compute.
# OFFLOADED-DAG:     vector.load %arg0{{.*}} {alignment = 16 : i64} : memref<256x64xf32, 1>
# OFFLOADED-DAG:     vector.load %arg1{{.*}} {alignment = 16 : i64} : memref<64x512xf32, 1>
# OFFLOADED:         scf.for
# OFFLOADED-NEXT:      nvvm.barrier
# OFFLOADED:           vector.store {{.*}} {alignment = 16 : i64} : memref<64x16xf32, 3>
# OFFLOADED:           vector.store {{.*}} {alignment = 16 : i64} : memref<16x128xf32, 3>
# OFFLOADED:           nvvm.barrier
# OFFLOADED:           scf.if
# OFFLOADED:             vector.load %arg0
# OFFLOADED:             vector.load %arg1
# OFFLOADED-NOT:       %arg2[
# OFFLOADED:         vector.store {{.*}}, %arg2

# PTX:     .extern .shared .align 1024 .b8 xtc_shared[];
# PTX:     f_nvgpu0_1_launch[32] = {16, {{.*}} 0, 1, {{.*}} 0, 48, 0, 0, 3
# PTX:     .visible .entry f_nvgpu0_1(
# PTX:     ld.global.nc.v4
# PTX:     bar.sync
# PTX:     st.shared.v4
# PTX:     bar.sync
# PTX:     ld.global.nc.v4
# PTX:     ld.shared.v4
# PTX-NOT: ld.shared.b32
# PTX:     st.global.v4
