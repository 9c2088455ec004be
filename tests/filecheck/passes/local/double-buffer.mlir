// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --double-buffer='local-bytes=3932160 units=16' --canonicalize --cse | FileCheck %s
// RUN: xtc-opt %s --double-buffer{local-bytes=1100} | FileCheck %s --check-prefix=SMALL

// Inputs arrive one iteration early; the transfer of a result is awaited one iteration late.

// CHECK-LABEL: func.func @both
// CHECK: %[[PUT:.*]] = memref.alloca() : memref<1xi32>
// CHECK: %[[GET:.*]] = memref.alloca() : memref<2xi32>
// CHECK: %[[X:.*]] = memref.alloc() : memref<2x8x4xf32, 2>
// CHECK: %[[FROM:.*]] = memref.subview %arg0[0, 0] [8, 4]
// CHECK: memref.dma_start %[[FROM]]{{.*}}, %[[GET]][%c0]
// CHECK: %[[Y:.*]] = memref.alloc() : memref<2x8x4xf32, 2>
// CHECK: scf.for %[[K:.*]] = %c0 to %c24 step %c8 {
// CHECK: %[[N:.*]] = arith.divsi %[[K]], %c8
// CHECK: %[[SLOT:.*]] = arith.remsi %[[N]], %c2
// CHECK: memref.subview %[[Y]][%[[SLOT]], 0, 0]
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %c8
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %c24
// CHECK: scf.if %[[MORE]] {
// CHECK: %[[OTHER:.*]] = arith.remsi
// CHECK: %[[THERE:.*]] = memref.subview %[[X]][%[[OTHER]], 0, 0]
// CHECK: %[[AHEAD:.*]] = memref.subview %arg0[%[[NEXT]], 0]
// CHECK: memref.dma_start %[[AHEAD]][{{.*}}], %[[THERE]][{{.*}}], %c32, %[[GET]][%[[OTHER]]]
// CHECK: }
// CHECK: memref.dma_wait %[[GET]][%[[SLOT]]]
// CHECK: linalg.exp
// CHECK: %[[LATER:.*]] = arith.cmpi sgt, %[[K]], %c0
// CHECK: scf.if %[[LATER]] {
// CHECK-NEXT: memref.dma_wait %[[PUT]][%c0]
// CHECK: memref.dma_start %{{.*}}, %[[PUT]][%c0]
// CHECK: }
// CHECK-NEXT: memref.dma_wait %[[PUT]][%c0]

// Another slot would not fit.
// SMALL-LABEL: func.func @both
// SMALL-NOT: 2x8x4
func.func private @block_number() -> i32
func.func @both(%arg0: memref<24x4xf32, 1>, %arg1: memref<24x4xf32, 1>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %0 = call @block_number() : () -> i32
  %1 = arith.index_cast %0 : i32 to index
  %c1 = arith.constant 1 : index
  %2 = arith.cmpi slt, %1, %c1 : index
  scf.if %2 {
    %alloc = memref.alloc() : memref<212xf32, 2>
    scf.for %arg2 = %c0 to %c24 step %c8 {
      %alloc_0 = memref.alloc() : memref<8x4xf32, 2>
      %alloc_1 = memref.alloc() : memref<8x4xf32, 2>
      %subview = memref.subview %arg0[%arg2, 0] [8, 4] [1, 1] : memref<24x4xf32, 1> to memref<8x4xf32, strided<[4, 1], offset: ?>, 1>
      %subview_2 = memref.subview %arg1[%arg2, 0] [8, 4] [1, 1] : memref<24x4xf32, 1> to memref<8x4xf32, strided<[4, 1], offset: ?>, 1>
      memref.copy %subview, %alloc_0 : memref<8x4xf32, strided<[4, 1], offset: ?>, 1> to memref<8x4xf32, 2>
      linalg.exp ins(%alloc_0 : memref<8x4xf32, 2>) outs(%alloc_1 : memref<8x4xf32, 2>)
      memref.copy %alloc_1, %subview_2 : memref<8x4xf32, 2> to memref<8x4xf32, strided<[4, 1], offset: ?>, 1>
    }
    memref.dealloc %alloc : memref<212xf32, 2>
  }
  return
}

// Not moved: a loop that writes its input, a transfer whose location is read from memory, a buffer
// that was allocated before the loop, and a loop of one iteration.

// CHECK-LABEL: func.func @none
// CHECK-NOT: memref.dma_start
// CHECK-NOT: 2x4xf32
// CHECK: return
func.func @none(%arg0: memref<24xf32, 1>, %arg1: memref<24xf32, 1>, %arg2: memref<24xindex, 1>) {
  %0 = call @block_number() : () -> i32
  %1 = arith.index_cast %0 : i32 to index
  %c0 = arith.constant 0 : index
  %2 = arith.cmpi eq, %1, %c0 : index
  scf.if %2 {
    %c0_0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c24 = arith.constant 24 : index
    %alloc = memref.alloc() : memref<4xf32, 2>
    scf.for %arg3 = %c0_0 to %c24 step %c4 {
      %alloc_1 = memref.alloc() : memref<4xf32, 2>
      %subview = memref.subview %arg0[%arg3] [4] [1] : memref<24xf32, 1> to memref<4xf32, strided<[1], offset: ?>, 1>
      memref.copy %subview, %alloc_1 : memref<4xf32, strided<[1], offset: ?>, 1> to memref<4xf32, 2>
      linalg.exp ins(%alloc_1 : memref<4xf32, 2>) outs(%alloc_1 : memref<4xf32, 2>)
      memref.copy %alloc_1, %subview : memref<4xf32, 2> to memref<4xf32, strided<[1], offset: ?>, 1>
    }
    scf.for %arg3 = %c0_0 to %c24 step %c4 {
      %alloc_1 = memref.alloc() : memref<4xf32, 2>
      %3 = memref.load %arg2[%arg3] : memref<24xindex, 1>
      %subview = memref.subview %arg0[%3] [4] [1] : memref<24xf32, 1> to memref<4xf32, strided<[1], offset: ?>, 1>
      memref.copy %subview, %alloc_1 : memref<4xf32, strided<[1], offset: ?>, 1> to memref<4xf32, 2>
      linalg.exp ins(%alloc_1 : memref<4xf32, 2>) outs(%alloc : memref<4xf32, 2>)
    }
    scf.for %arg3 = %c0_0 to %c4 step %c4 {
      %alloc_1 = memref.alloc() : memref<4xf32, 2>
      %subview = memref.subview %arg1[%arg3] [4] [1] : memref<24xf32, 1> to memref<4xf32, strided<[1], offset: ?>, 1>
      memref.copy %subview, %alloc_1 : memref<4xf32, strided<[1], offset: ?>, 1> to memref<4xf32, 2>
      linalg.exp ins(%alloc_1 : memref<4xf32, 2>) outs(%alloc : memref<4xf32, 2>)
    }
  }
  return
}
