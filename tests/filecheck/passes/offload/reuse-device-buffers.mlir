// RUN: xtc-opt %s --reuse-device-buffers | FileCheck %s

// A chain of three kernels needs two buffers: the second kernel reads the result of the first, which
// is dead when the third writes. Each buffer is freed once.

// CHECK:      %[[A:.*]] = memref.alloc() {xtc.device = "npu0"}
// CHECK:      call @f.npu0.0(%arg0, %[[A]])
// CHECK-NEXT: %[[B:.*]] = memref.alloc() {xtc.device = "npu0"}
// CHECK-NEXT: call @f.npu0.0(%[[A]], %[[B]])
// CHECK-NEXT: call @f.npu0.0(%[[B]], %[[A]])
// CHECK-NEXT: call @f.npu0.0(%[[A]], %[[B]])
// CHECK-NEXT: memref.copy %[[B]], %arg1
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: memref.dealloc %[[B]]
// CHECK-NEXT: return
func.func private @f.npu0.0(memref<4xf32, 1>, memref<4xf32, 1>) attributes {xtc.device = "npu0"}
func.func @f(%a: memref<4xf32, 1> {memref.on_device}, %r: memref<4xf32>) {
  %0 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  call @f.npu0.0(%a, %0) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
  %1 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  call @f.npu0.0(%0, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
  %2 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  call @f.npu0.0(%1, %2) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
  %3 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  call @f.npu0.0(%2, %3) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
  memref.copy %3, %r {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
  memref.dealloc %0 {xtc.device = "npu0"} : memref<4xf32, 1>
  memref.dealloc %1 {xtc.device = "npu0"} : memref<4xf32, 1>
  memref.dealloc %2 {xtc.device = "npu0"} : memref<4xf32, 1>
  memref.dealloc %3 {xtc.device = "npu0"} : memref<4xf32, 1>
  return
}

// A buffer is in use as long as its views are.

// CHECK-LABEL: func.func @view
// CHECK:      memref.alloc()
// CHECK:      %[[V:.*]] = memref.expand_shape
// CHECK:      %[[B:.*]] = memref.alloc()
// CHECK:      call @f.npu0.0(%arg0, %[[B]])
// CHECK-NEXT: call @f.npu0.1(%[[V]], %[[B]])
func.func private @f.npu0.1(memref<2x2xf32, 1>, memref<4xf32, 1>) attributes {xtc.device = "npu0"}
func.func @view(%a: memref<4xf32, 1> {memref.on_device}) {
  %0 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  call @f.npu0.0(%a, %0) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
  %v = memref.expand_shape %0 [[0, 1]] output_shape [2, 2] : memref<4xf32, 1> into memref<2x2xf32, 1>
  %1 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  call @f.npu0.0(%a, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
  call @f.npu0.1(%v, %1) {xtc.device = "npu0"} : (memref<2x2xf32, 1>, memref<4xf32, 1>) -> ()
  memref.dealloc %0 {xtc.device = "npu0"} : memref<4xf32, 1>
  memref.dealloc %1 {xtc.device = "npu0"} : memref<4xf32, 1>
  return
}
