// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --copy-by-loops | FileCheck %s
// RUN: xtc-opt %s --copy-by-loops{whole=true} | FileCheck %s --check-prefix=WHOLE
// RUN: xtc-opt %s --copy-by-loops{parts=true} | FileCheck %s --check-prefix=PARTS

// A copy between dense arrays stays, because it becomes one memcpy. Strided elements are copied one by one.

// CHECK-LABEL: func.func @dense
// CHECK-NEXT: memref.copy
// WHOLE-LABEL: func.func @dense
// WHOLE-NEXT: linalg.copy
// WHOLE-NOT:  memref.copy
func.func @dense(%a: memref<4x8xf32>, %b: memref<4x8xf32>) {
  memref.copy %a, %b : memref<4x8xf32> to memref<4x8xf32>
  return
}

// CHECK-LABEL: func.func @border
// CHECK-NEXT: %[[INNER:.*]] = memref.subview
// CHECK-NEXT: linalg.copy ins(%arg0 : memref<4x8xf32>) outs(%[[INNER]] : memref<4x8xf32, strided<[10, 1], offset: 11>>)
// CHECK-NOT: memref.copy
func.func @border(%a: memref<4x8xf32>, %b: memref<6x10xf32>) {
  %inner = memref.subview %b[1, 1] [4, 8] [1, 1]
    : memref<6x10xf32> to memref<4x8xf32, strided<[10, 1], offset: 11>>
  memref.copy %a, %inner : memref<4x8xf32> to memref<4x8xf32, strided<[10, 1], offset: 11>>
  return
}

// Some rows of a dense array are dense themselves.
// CHECK-LABEL: func.func @rows
// CHECK: memref.copy
func.func @rows(%a: memref<2x8xf32>, %b: memref<6x8xf32>) {
  %rows = memref.subview %b[1, 0] [2, 8] [1, 1]
    : memref<6x8xf32> to memref<2x8xf32, strided<[8, 1], offset: 8>>
  memref.copy %a, %rows : memref<2x8xf32> to memref<2x8xf32, strided<[8, 1], offset: 8>>
  return
}

// A view of a part of a buffer has no name in C, whatever its shape.
// CHECK-LABEL: func.func @reshaped_part
// CHECK:       memref.copy
// PARTS-LABEL: func.func @reshaped_part
// PARTS:       linalg.copy
// PARTS-NOT:   memref.copy
func.func @reshaped_part(%a: memref<2x3xf32>, %b: memref<1xf32>) {
  %part = memref.subview %a[1, 1] [1, 1] [1, 1]
    : memref<2x3xf32> to memref<1x1xf32, strided<[3, 1], offset: 4>>
  %element = memref.collapse_shape %part [[0, 1]]
    : memref<1x1xf32, strided<[3, 1], offset: 4>> into memref<1xf32, strided<[3], offset: 4>>
  memref.copy %element, %b : memref<1xf32, strided<[3], offset: 4>> to memref<1xf32>
  return
}
