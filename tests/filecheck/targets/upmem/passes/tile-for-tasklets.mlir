// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--tile-for-tasklets{dpus=1 tasklets=8 local-bytes=1024}' --canonicalize --cse | FileCheck %s
// RUN: xtc-opt %s '--tile-for-tasklets{dpus=4 tasklets=8 local-bytes=1024}' --canonicalize --cse | FileCheck %s --check-prefix=SHARED

// The fill becomes the initial contents of each tile. B does not depend on the tile: it is copied
// once.

// CHECK-LABEL: func.func @matmul
// CHECK-SAME:    upmem.each = [2048, 512, 4096], upmem.written = [0, 0, 1]
// CHECK:         %[[B:.*]] = memref.alloc() : memref<8x16xf32, 2>
// CHECK:         memref.copy %arg1, %[[B]]
// CHECK:         %[[ME:.*]] = call @xtc_tasklet()
// CHECK:         scf.for %{{.*}} = %[[ME]] to %{{.*}} step %c8
// CHECK:           %[[A:.*]] = memref.alloc() : memref<4x8xf32, 2>
// CHECK:           memref.copy %{{.*}}, %[[A]]
// CHECK:           %[[C:.*]] = memref.alloc() : memref<4x16xf32, 2>
// CHECK-NEXT:      linalg.fill ins(%cst : f32) outs(%[[C]]
// CHECK:           linalg.generic {{.*}} ins(%[[A]], %[[B]] : memref<4x8xf32, 2>, memref<8x16xf32, 2>) outs(%[[C]] : memref<4x16xf32, 2>)
// CHECK:           memref.copy %[[C]], %{{.*}}

// Four DPUs have 16 rows of A and C each, and all of B.
// SHARED-LABEL: func.func @matmul
// SHARED-SAME:    upmem.each = [512, 0, 1024]
// SHARED:         call @xtc_dpu()

func.func @matmul(%A: memref<64x8xf32, 1>, %B: memref<8x16xf32, 1>, %C: memref<64x16xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%C : memref<64x16xf32, 1>)
  linalg.matmul ins(%A, %B : memref<64x8xf32, 1>, memref<8x16xf32, 1>) outs(%C : memref<64x16xf32, 1>)
  return
}

// A transpose reads other rows than it writes: all DPUs have its operand, and each has a part of the result.
// SHARED-LABEL: func.func @transpose
// SHARED-SAME:    upmem.each = [0, 1024], upmem.written = [0, 1]
func.func @transpose(%A: memref<32x32xf32, 1>, %B: memref<32x32xf32, 1>) {
  linalg.transpose ins(%A : memref<32x32xf32, 1>) outs(%B : memref<32x32xf32, 1>) permutation = [1, 0]
  return
}
