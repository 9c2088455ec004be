// RUN: xtc-opt %s --hoist-copies | FileCheck %s

// The copy of %b and the kernel do not depend on the host's computation, so the device begins first.
// The copy of %t does, and stays.

// CHECK:      %[[T:.*]] = memref.alloc() : memref<4xf32>
// CHECK:      memref.copy %arg1, %[[B:.*]] {xtc.device = "npu0"}
// CHECK-NEXT: call @f.npu0.0(%[[B]])
// CHECK-NEXT: linalg.exp ins(%arg0 : memref<4xf32>) outs(%[[T]] : memref<4xf32>)
// CHECK-NEXT: memref.copy %[[T]], %[[B]] {xtc.device = "npu0"}
// CHECK-NEXT: call @f.npu0.0(%[[B]])
func.func private @f.npu0.0(memref<4xf32, 1>) attributes {xtc.device = "npu0"}
func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  %t = memref.alloc() : memref<4xf32>
  linalg.exp ins(%a : memref<4xf32>) outs(%t : memref<4xf32>)
  %0 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  memref.copy %b, %0 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
  call @f.npu0.0(%0) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
  memref.copy %t, %0 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
  call @f.npu0.0(%0) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
  return
}
