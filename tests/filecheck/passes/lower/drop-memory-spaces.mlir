// RUN: xtc-opt %s --drop-memory-spaces | FileCheck %s

// CHECK:      func.func @f(%arg0: memref<4x4xf32>, %arg1: index)
// CHECK-NEXT:   memref.subview %arg0[%arg1, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
// CHECK-NEXT:   memref.alloc() : memref<1x4xf32>
// CHECK-NEXT:   memref.copy
func.func @f(%a: memref<4x4xf32, 1>, %i: index) {
  %row = memref.subview %a[%i, 0] [1, 4] [1, 1] : memref<4x4xf32, 1> to memref<1x4xf32, strided<[4, 1], offset: ?>, 1>
  %local = memref.alloc() : memref<1x4xf32, 2>
  memref.copy %row, %local : memref<1x4xf32, strided<[4, 1], offset: ?>, 1> to memref<1x4xf32, 2>
  return
}
