# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s sm_80 | FileCheck %s --check-prefixes=CHECK,SM80
# RUN: %python %s sm_90a | FileCheck %s --check-prefixes=CHECK,SM90
"""A contraction with what follows it is one kernel: cp.async, ldmatrix and mma.sync, or bulk copies and wgmma."""

import sys

import xtc.ops as O
from xtc.driver import prepare
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

gpu = NvgpuDevice(NvgpuOptions(platform="hw", arch=sys.argv[1]))
a = O.tensor((4096, 512), "float16", name="A", device=gpu)
b = O.tensor((512, 4096), "float16", name="B", device=gpu)
bias = O.tensor((4096,), "float16", name="bias", device=gpu)
with O.graph(name="f") as graph:
    product = O.matmul(a, b, name="C", device=gpu)
    O.relu(O.add(product, bias, name="D", device=gpu), name="E", device=gpu)

print(prepare(graph.graph, target=gpu).stage_text("code"))

# 1024 tiles of 128 x 128, by 128 threads each; the launch requests the shared memory.
# CHECK:        .extern .shared .align 1024 .b8 xtc_shared[]
# SM80:         _launch[32] = {0, 4, {{.*}} 128, 0, 0, 0, {{.*}} 0, 16, 1, 0, 4};
# On sm_90a 132 blocks process 512 tiles of 128 x 256: one warp copies for two warpgroups, by the maps of
# three tensors, and half of B for both blocks of a cluster.
# SM90:         _launch[36] = {132, 0, {{.*}} 128, 1, 0, 0, {{.*}} 4, 0, 0, 0, 3};
# SM90:         _maps[480] = {
# CHECK-NOT:    _launch[
# CHECK:        .visible .entry f_nvgpu0_0(
# SM90:         .param .align 128 .b8 f_nvgpu0_0_param_4[128]
# SM80:         .reqntid 128, 1, 1
# SM80:         .minnctapersm 2
# SM90:         .reqntid 384, 1, 1
# SM90:         .maxnreg 168
# SM90:         .reqnctapercluster 2, 1, 1
# SM80:         cp.async.cg.shared.global
# SM80:         cp.async.commit_group
# SM80:         cp.async.wait_group 2
# SM80:         bar{{(rier)?}}.sync
# SM90-NOT:     cp.async.cg
# SM90:         cvta.param.u64
# SM90:         setmaxnreg.dec.sync.aligned.u32 40
# SM90:         mbarrier.try_wait.parity
# SM90:         cp.async.bulk.tensor.2d.shared::cluster.global
# SM90:         cp.async.bulk.tensor.2d.shared::cluster.global{{.*}}.multicast::cluster
# SM80:         ldmatrix.sync.aligned.m8n8.x4.shared.b16
# SM80:         ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
# SM80:         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
# SM90-NOT:     ldmatrix
# SM90:         setmaxnreg.inc.sync.aligned.u32 232
# SM90:         wgmma.fence.sync.aligned
# SM90:         wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16
# SM90:         wgmma.commit_group.sync.aligned
# SM90-NOT:     mma.sync.
# SM80:         st.shared.v2
# SM80:         ld.shared.v4
# SM80:         st.global.v4
# SM90:         fence.proxy.async.shared::cta
# SM90:         cp.async.bulk.tensor.2d.global.shared::cta
# CHECK-NOT:    .entry
