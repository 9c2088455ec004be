# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage scheduled | FileCheck %s --check-prefix=SCHEDULED
# RUN: xtc-compile %s --stage offloaded | FileCheck %s --check-prefix=OFFLOADED
# RUN: xtc-compile %s --stage lowered | FileCheck %s --check-prefix=LOWERED
"""A chain of elementwise operations is one kernel, with a thread for each element."""

import xtc.ops as O

x = O.tensor((70, 33), name="X", device="nvgpu0")
y = O.tensor((70, 33), name="Y", device="nvgpu0")
with O.graph(name="chain") as graph:
    O.relu(O.add(x, y, device="nvgpu0"), name="Z", device="nvgpu0")

# SCHEDULED:      func.func private @chain.nvgpu0.0(
# SCHEDULED:        linalg.generic
# SCHEDULED:          arith.addf
# SCHEDULED:          arith.maximumf
# SCHEDULED-NOT:    linalg.generic
# SCHEDULED:      func.func @chain(

# OFFLOADED:      func.func @chain.nvgpu0.0(
# OFFLOADED-SAME:   nvgpu.block = array<i64: 256, 1, 1>, nvgpu.grid = array<i64: 10, 1, 1>
# OFFLOADED:        nvvm.read.ptx.sreg.ctaid.x
# OFFLOADED:        nvvm.read.ptx.sreg.tid.x
# OFFLOADED:        affine.delinearize_index %{{.*}} into (70, 33)
# OFFLOADED:        memref.load {{.*}} : memref<70x33xf32, 1>
# OFFLOADED:        memref.load {{.*}} : memref<70x33xf32, 1>
# OFFLOADED:        memref.store {{.*}} : memref<70x33xf32, 1>
# OFFLOADED-NOT:    scf.parallel
# OFFLOADED:      func.func @chain(
# OFFLOADED:        call @chain.nvgpu0.0(

# LOWERED:         llvm.func internal @chain.nvgpu0.0(
# LOWERED-COUNT-2: llvm.call @cuda_read
# LOWERED:         llvm.call @cuda_write
# LOWERED-NOT:     nvvm.
# LOWERED:         llvm.func @chain_nvgpu0_0(
# LOWERED:           llvm.call @cuda_launch
