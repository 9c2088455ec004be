// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --bound-local-buffers | FileCheck %s

// The smallest constant bounds the size; views of the buffer get the strides of the bound.

// CHECK-LABEL: func.func @tail
// CHECK: %[[N:.*]] = affine.min
// CHECK: %[[ROOM:.*]] = memref.alloc() {alignment = 64 : i64} : memref<8x32xf32, 2>
// CHECK: %[[PART:.*]] = memref.subview %[[ROOM]][0, 0] [8, %[[N]]] [1, 1] : memref<8x32xf32, 2> to memref<8x?xf32, strided<[32, 1]>, 2>
// CHECK: memref.subview %[[PART]][%arg0, 0] [1, %[[N]]] [1, 1] : memref<8x?xf32, strided<[32, 1]>, 2> to memref<?xf32, strided<[1], offset: ?>, 2>
// CHECK: memref.subview %[[PART]][2, 0] [3, %[[N]]] [1, 1] : {{.*}} to memref<3x?xf32, strided<[32, 1], offset: 64>, 2>
// CHECK-NOT: memref.dealloc
func.func @tail(%i: index, %x: f32) {
  %n = affine.min affine_map<(d0) -> (32, 64, -d0 + 100)>(%i)
  %a = memref.alloc(%n) {alignment = 64 : i64} : memref<8x?xf32, 2>
  %row = memref.subview %a[%i, 0] [1, %n] [1, 1] : memref<8x?xf32, 2> to memref<?xf32, strided<[1], offset: ?>, 2>
  %rows = memref.subview %a[2, 0] [3, %n] [1, 1] : memref<8x?xf32, 2> to memref<3x?xf32, strided<[?, 1], offset: ?>, 2>
  linalg.fill ins(%x : f32) outs(%row : memref<?xf32, strided<[1], offset: ?>, 2>)
  linalg.fill ins(%x : f32) outs(%rows : memref<3x?xf32, strided<[?, 1], offset: ?>, 2>)
  memref.dealloc %a : memref<8x?xf32, 2>
  return
}
