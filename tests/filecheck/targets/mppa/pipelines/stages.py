# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage scheduled | FileCheck %s --check-prefix=SCHEDULED
# RUN: xtc-compile %s --stage bufferized | FileCheck %s --check-prefix=BUFFERIZED
# RUN: xtc-compile %s --stage offloaded | FileCheck %s --check-prefix=OFFLOADED
# RUN: xtc-compile %s --stage lowered | FileCheck %s --check-prefix=LOWERED
# RUN: xtc-compile %s --target mppa -O codegen=c --stage code | FileCheck %s --check-prefix=CODE
"""A dense layer at each stage: one kernel, whose clusters compute tiles in SMEM while DMA brings more."""

import xtc.ops as O

x = O.tensor((640, 512), name="X")
w = O.tensor((512, 64), name="W", device="mppa0")
b = O.tensor((64,), name="B", device="mppa0")
with O.graph(name="layer") as graph:
    product = O.matmul(x, w, name="P", device="mppa0")
    O.relu(O.add(product, b, name="S", device="mppa0"), name="Y", device="mppa0")

# Product, bias and activation are one nest. Copies to space 2, SMEM, are tensors with that space.
# SCHEDULED:     func.func private @layer.mppa0.0(
# SCHEDULED:       scf.forall
# SCHEDULED:         bufferization.alloc_tensor{{.*}} {memory_space = 2 : i64}
# SCHEDULED:         linalg.matmul
# SCHEDULED:         mapping = [#gpu.thread<linear_dim_0>]
# SCHEDULED:         arith.maximumf
# SCHEDULED:       mapping = [#gpu.block<linear_dim_0>]
# SCHEDULED-NOT: func.func private

# BUFFERIZED:    memref.alloc() {{.*}} : memref<{{.*}}, 2>
# BUFFERIZED:    memref.copy %{{.*}} to memref<{{.*}}, 2>

# The cluster's share, with transfers that start one strip ahead; X is all that the host sends.
# OFFLOADED:     module @mppa0
# OFFLOADED:       call @dev_cluster_id()
# OFFLOADED:       memref.dma_start
# OFFLOADED:       scf.for
# OFFLOADED:         memref.dma_start
# OFFLOADED:         memref.dma_wait
# OFFLOADED:         scf.forall
# OFFLOADED:     func.func @layer(
# OFFLOADED-COUNT-1: memref.copy
# OFFLOADED-NOT:   memref.copy
# OFFLOADED:       return

# LOWERED-DAG:   llvm.call @dev_dma_2d(
# LOWERED-DAG:   llvm.call @uk_mma_{{[0-9]+x16}}_f32(
# LOWERED-DAG:   llvm.call @dev_pe_launch(

# CODE:          void layer_mppa0_0(const uint64_t *arguments)
