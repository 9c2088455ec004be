// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-clusters{clusters=1} --start-transfers | FileCheck %s

// Two transfers run at the same time; each is waited for where its buffer is first touched.

// CHECK-LABEL: func.func @both
// CHECK: memref.dma_start %arg0[{{.*}}], %[[A:.*]][{{.*}}], %{{.*}}, %[[TA:[a-z_0-9]+]][
// CHECK: memref.dma_start %arg1[{{.*}}], %[[B:.*]][{{.*}}], %{{.*}}, %[[TB:[a-z_0-9]+]][
// CHECK: memref.dma_wait %[[TA]]
// CHECK-NEXT: linalg.exp ins(%[[A]]
// CHECK: memref.dma_wait %[[TB]]
// CHECK-NEXT: linalg.add
// CHECK: memref.dma_start %[[B]]{{.*}}, %arg2{{.*}}, %[[TC:[a-z_0-9]+]][
// CHECK: linalg.exp
// CHECK: memref.dma_wait %[[TC]]
// CHECK-NEXT: }
func.func @both(%A: memref<8xf32, 1>, %B: memref<8xf32, 1>, %C: memref<8xf32, 1>) {
  scf.forall (%i) in (2) {
    %a = memref.alloc() : memref<8xf32, 2>
    %b = memref.alloc() : memref<8xf32, 2>
    memref.copy %A, %a : memref<8xf32, 1> to memref<8xf32, 2>
    memref.copy %B, %b : memref<8xf32, 1> to memref<8xf32, 2>
    linalg.exp ins(%a : memref<8xf32, 2>) outs(%a : memref<8xf32, 2>)
    linalg.add ins(%a, %b : memref<8xf32, 2>, memref<8xf32, 2>) outs(%b : memref<8xf32, 2>)
    memref.copy %b, %C : memref<8xf32, 2> to memref<8xf32, 1>
    linalg.exp ins(%b : memref<8xf32, 2>) outs(%a : memref<8xf32, 2>)
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}

// PEs have no DMA, and there is none within a memory or from constants.

// CHECK-LABEL: func.func @loops
// CHECK-NOT: memref.dma_start
// CHECK: linalg.copy ins(%arg0
// CHECK: scf.forall
// CHECK: linalg.copy ins(%arg0
// CHECK: linalg.copy ins(%{{.*}} : memref<8xf32>)
// CHECK-NOT: memref.copy
memref.global "private" constant @table : memref<8xf32> = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]>
func.func @loops(%A: memref<8xf32, 1>, %B: memref<8xf32, 1>) {
  memref.copy %A, %B : memref<8xf32, 1> to memref<8xf32, 1>
  scf.forall (%p) in (16) {
    %a = memref.alloc() : memref<8xf32, 2>
    memref.copy %A, %a : memref<8xf32, 1> to memref<8xf32, 2>
  } {mapping = [#gpu.thread<linear_dim_0>]}
  %t = memref.get_global @table : memref<8xf32>
  %b = memref.alloc() : memref<8xf32, 2>
  memref.copy %t, %b : memref<8xf32> to memref<8xf32, 2>
  return
}
