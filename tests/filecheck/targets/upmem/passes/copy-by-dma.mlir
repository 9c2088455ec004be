// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --copy-by-dma --canonicalize --cse | FileCheck %s

// Rows of 64 bytes with gaps in MRAM: a call for each. A contiguous copy is one call.

// CHECK-LABEL: func.func @rows
// CHECK:         scf.for %{{.*}} = %c0 to %c4 step %c1 {
// CHECK:           func.call @xtc_get(%{{.*}}, %{{.*}}, %c64)
// CHECK:         }
// CHECK:         call @xtc_put(%{{.*}}, %{{.*}}, %c256)
func.func @rows(%A: memref<8x32xf32, 1>, %B: memref<4x16xf32, 1>) {
  %tile = memref.alloc() : memref<4x16xf32, 2>
  %part = memref.subview %A[2, 8] [4, 16] [1, 1] : memref<8x32xf32, 1> to memref<4x16xf32, strided<[32, 1], offset: 72>, 1>
  memref.copy %part, %tile : memref<4x16xf32, strided<[32, 1], offset: 72>, 1> to memref<4x16xf32, 2>
  memref.copy %tile, %B : memref<4x16xf32, 2> to memref<4x16xf32, 1>
  return
}
