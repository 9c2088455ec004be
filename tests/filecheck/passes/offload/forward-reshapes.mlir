// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --forward-reshapes | FileCheck %s

// A function that only reshapes is removed with all of its calls.

// CHECK-NOT: @rows
func.func private @rows(%a: memref<2x4xf32>, %r: memref<8xf32>) attributes {xtc.device = "npu0", xtc.results = 1 : i64} {
  %v = memref.collapse_shape %a [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  memref.copy %v, %r : memref<8xf32> to memref<8xf32>
  return
}

// CHECK: func.func private @kept
func.func private @kept(%a: memref<2x4xf32>, %r: memref<8xf32>) attributes {xtc.device = "npu0", xtc.results = 1 : i64} {
  %v = memref.collapse_shape %a [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  memref.copy %v, %r : memref<8xf32> to memref<8xf32>
  return
}

func.func private @k(memref<8xf32>, memref<8xf32>) attributes {xtc.device = "npu1", xtc.results = 1 : i64}

// The host and other devices read the argument itself.

// CHECK-LABEL: func.func @read
// CHECK: %[[V:.*]] = memref.collapse_shape %arg0
// CHECK: call @k(%[[V]], %arg1)
// CHECK: memref.copy %[[V]], %arg2
func.func @read(%a: memref<2x4xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
  %y = memref.alloc() : memref<8xf32>
  call @rows(%a, %y) : (memref<2x4xf32>, memref<8xf32>) -> ()
  call @k(%y, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.copy %y, %c : memref<8xf32> to memref<8xf32>
  return
}

// The call stays if the argument changes before its reader, or if the caller owns the result.

// CHECK-LABEL: func.func @written
// CHECK: call @kept(%arg0, %{{.*}})
// CHECK: memref.copy %arg1, %arg0
// CHECK: call @kept(%arg0, %arg2)
func.func @written(%a: memref<2x4xf32>, %b: memref<2x4xf32>, %c: memref<8xf32>) {
  %y = memref.alloc() : memref<8xf32>
  call @kept(%a, %y) : (memref<2x4xf32>, memref<8xf32>) -> ()
  memref.copy %b, %a : memref<2x4xf32> to memref<2x4xf32>
  call @k(%y, %c) : (memref<8xf32>, memref<8xf32>) -> ()
  call @kept(%a, %c) : (memref<2x4xf32>, memref<8xf32>) -> ()
  return
}
