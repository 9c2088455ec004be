// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --start-transfers | FileCheck %s

// Two transfers overlap; each is awaited before the first access to its buffer.

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
func.func private @block_number() -> i32
func.func @both(%arg0: memref<8xf32, 1>, %arg1: memref<8xf32, 1>, %arg2: memref<8xf32, 1>) {
  %0 = call @block_number() : () -> i32
  %1 = arith.index_cast %0 : i32 to index
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  scf.for %arg3 = %1 to %c2 step %c1 {
    %alloc = memref.alloc() : memref<8xf32, 2>
    %alloc_0 = memref.alloc() : memref<8xf32, 2>
    memref.copy %arg0, %alloc : memref<8xf32, 1> to memref<8xf32, 2>
    memref.copy %arg1, %alloc_0 : memref<8xf32, 1> to memref<8xf32, 2>
    linalg.exp ins(%alloc : memref<8xf32, 2>) outs(%alloc : memref<8xf32, 2>)
    linalg.add ins(%alloc, %alloc_0 : memref<8xf32, 2>, memref<8xf32, 2>) outs(%alloc_0 : memref<8xf32, 2>)
    memref.copy %alloc_0, %arg2 : memref<8xf32, 2> to memref<8xf32, 1>
    linalg.exp ins(%alloc_0 : memref<8xf32, 2>) outs(%alloc : memref<8xf32, 2>)
  }
  return
}

memref.global "private" constant @table : memref<8xf32> = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]>

// No DMA: transfers by PEs, within a memory, or from constants.

// CHECK-LABEL: func.func @loops
// CHECK-NOT: memref.dma_start
// CHECK: linalg.copy ins(%arg0
// CHECK: scf.forall
// CHECK: linalg.copy ins(%arg0
// CHECK: linalg.copy ins(%{{.*}} : memref<8xf32>)
// CHECK-NOT: memref.copy
func.func @loops(%arg0: memref<8xf32, 1>, %arg1: memref<8xf32, 1>) {
  %0 = call @block_number() : () -> i32
  %1 = arith.index_cast %0 : i32 to index
  %c0 = arith.constant 0 : index
  %2 = arith.cmpi eq, %1, %c0 : index
  scf.if %2 {
    memref.copy %arg0, %arg1 : memref<8xf32, 1> to memref<8xf32, 1>
    scf.forall (%arg2) in (16) {
      %alloc_0 = memref.alloc() : memref<8xf32, 2>
      memref.copy %arg0, %alloc_0 : memref<8xf32, 1> to memref<8xf32, 2>
    } {mapping = [#gpu.thread<linear_dim_0>]}
    %3 = memref.get_global @table : memref<8xf32>
    %alloc = memref.alloc() : memref<8xf32, 2>
    memref.copy %3, %alloc : memref<8xf32> to memref<8xf32, 2>
  }
  return
}
