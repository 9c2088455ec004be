// RUN: xtc-opt %s --insert-transfers | FileCheck %s

// %a lives on the host and is copied in; %b lives on the device and is not. The temporary %t passes
// from one device function to the next without a copy, and the result is copied out once.

module {
  // CHECK: func.func private @f.npu0.0(%arg0: memref<4xf32, 1>, %arg1: memref<4xf32, 1>, %arg2: memref<4xf32, 1>)
  // CHECK-NEXT: linalg.add ins(%arg0, %arg1 : memref<4xf32, 1>, memref<4xf32, 1>) outs(%arg2 : memref<4xf32, 1>)
  func.func private @f.npu0.0(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>)
      attributes {xtc.device = "npu0", xtc.results = 1 : i64} {
    linalg.add ins(%x, %y : memref<4xf32>, memref<4xf32>) outs(%z : memref<4xf32>)
    return
  }
  func.func private @f.npu0.1(%x: memref<4xf32>, %y: memref<4xf32>)
      attributes {xtc.device = "npu0", xtc.results = 1 : i64} {
    linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
    return
  }

  // CHECK: func.func @f(%[[A:.*]]: memref<4xf32>, %[[B:.*]]: memref<4xf32, 1> {memref.on_device}, %[[R:.*]]: memref<4xf32>)
  // CHECK: %[[A1:.*]] = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  // CHECK: memref.copy %[[A]], %[[A1]]
  // CHECK: %[[T:.*]] = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  // CHECK: call @f.npu0.0(%[[A1]], %[[B]], %[[T]])
  // CHECK-NOT: memref.copy
  // CHECK: %[[R1:.*]] = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  // CHECK: call @f.npu0.1(%[[T]], %[[R1]])
  // CHECK: memref.copy %[[R1]], %[[R]] {xtc.device = "npu0"}
  // CHECK-NEXT: memref.dealloc %[[A1]] {xtc.device = "npu0"}
  // CHECK-NEXT: memref.dealloc %[[T]]
  // CHECK-NEXT: memref.dealloc %[[R1]]
  // CHECK-NEXT: return
  func.func @f(%a: memref<4xf32>, %b: memref<4xf32> {memref.on_device}, %r: memref<4xf32>) {
    %t = memref.alloc() : memref<4xf32>
    call @f.npu0.0(%a, %b, %t) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
    %u = memref.alloc() : memref<4xf32>
    call @f.npu0.1(%t, %u) : (memref<4xf32>, memref<4xf32>) -> ()
    memref.copy %u, %r : memref<4xf32> to memref<4xf32>
    return
  }

  // An unwritten buffer is allocated, and not copied in.
  // CHECK: func.func @unwritten(
  // CHECK-NOT: memref.copy
  // CHECK: call @f.npu0.1(
  // CHECK: memref.copy %{{.*}}, %{{.*}} {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
  func.func @unwritten(%r: memref<4xf32>) {
    %t = memref.alloc() : memref<4xf32>
    call @f.npu0.1(%t, %r) : (memref<4xf32>, memref<4xf32>) -> ()
    return
  }

  // A constant of the device, and one reshaped, are copied on the device.
  memref.global constant @w : memref<4xf32> {memref.on_device}
  // CHECK: func.func @given(%[[A:.*]]: memref<4xf32, 1> {memref.on_device}, %[[B:.*]]: memref<2x2xf32, 1> {memref.on_device})
  // CHECK: %[[W:.*]] = memref.get_global @w
  // CHECK: memref.copy %[[W]], %[[A]] {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32, 1>
  // CHECK: %[[SQUARE:.*]] = memref.expand_shape %[[W]] 
  // CHECK: memref.copy %[[SQUARE]], %[[B]] {xtc.device = "npu0"} : memref<2x2xf32, 1> to memref<2x2xf32, 1>
  func.func @given(%a: memref<4xf32> {memref.on_device}, %b: memref<2x2xf32> {memref.on_device}) {
    %w = memref.get_global @w : memref<4xf32>
    memref.copy %w, %a : memref<4xf32> to memref<4xf32>
    %square = memref.expand_shape %w [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
    memref.copy %square, %b : memref<2x2xf32> to memref<2x2xf32>
    return
  }
}
