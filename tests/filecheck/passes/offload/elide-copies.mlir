// RUN: xtc-opt %s --elide-copies | FileCheck %s

// The result of a kernel is copied to a host buffer, and from there, through another one, to an
// argument on the same device: now it is copied on the device, and the host buffers are unused.

// CHECK-LABEL: func.func @f(%arg0: memref<4xf32, 1>, %arg1: memref<4xf32>)
// CHECK:         %[[R:.*]] = memref.alloc() {xtc.device = "npu0"}
// CHECK:         call @f.npu0.0(%[[R]])
// CHECK-NEXT:    memref.copy %[[R]], %arg0 {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32, 1>
// CHECK-NEXT:    return
func.func private @f.npu0.0(memref<4xf32, 1>) attributes {xtc.device = "npu0"}
func.func @f(%b: memref<4xf32, 1>, %a: memref<4xf32>) {
  %h = memref.alloc() : memref<4xf32>
  %g = memref.alloc() : memref<4xf32>
  %r = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  call @f.npu0.0(%r) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
  memref.copy %r, %h {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
  memref.copy %h, %g : memref<4xf32> to memref<4xf32>
  memref.copy %g, %b {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
  return
}

// The host changes the buffer in between, so its contents are copied back.

// CHECK-LABEL: func.func @changed
// CHECK:         memref.copy %[[R:.*]], %[[H:.*]] {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
// CHECK:         linalg.exp
// CHECK:         memref.copy %[[H]], %arg0 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
func.func @changed(%b: memref<4xf32, 1>) {
  %h = memref.alloc() : memref<4xf32>
  %r = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  memref.copy %r, %h {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
  linalg.exp ins(%h : memref<4xf32>) outs(%h : memref<4xf32>)
  memref.copy %h, %b {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
  return
}
