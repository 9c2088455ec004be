// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --copy-by-loops | FileCheck %s
// RUN: xtc-opt %s --copy-by-loops{whole=true} | FileCheck %s --check-prefix=WHOLE

// A copy between dense arrays stays: it becomes one memcpy. Elements apart are copied one by one.

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
