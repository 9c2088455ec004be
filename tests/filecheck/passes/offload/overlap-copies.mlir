// RUN: xtc-opt %s --overlap-copies | FileCheck %s

// %c is copied in while the first kernel runs. %1, which that kernel writes, is copied out after both
// kernels; later copies have no kernel to overlap with.

// CHECK:      memref.copy %arg0, %[[A:.*]] {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
// CHECK-NEXT: call @f.npu0.0(%[[A]], %[[B:alloc_[0-9]+]])
// CHECK-NEXT: memref.copy %arg1, %[[C:.*]] {xtc.device = "npu0", xtc.overlap}
// CHECK-NEXT: call @f.npu0.0(%[[C]], %[[D:alloc_[0-9]+]])
// CHECK-NEXT: memref.copy %[[B]], %arg0 {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
// CHECK-NEXT: memref.copy %[[D]], %arg1 {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
func.func private @f.npu0.0(memref<4xf32, 1>, memref<4xf32, 1>) attributes {xtc.device = "npu0"}
func.func @f(%a: memref<4xf32>, %c: memref<4xf32>) {
  %0 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  %1 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  %2 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  %3 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
  memref.copy %a, %0 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
  call @f.npu0.0(%0, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
  memref.copy %c, %2 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
  call @f.npu0.0(%2, %3) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
  memref.copy %1, %a {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
  memref.copy %3, %c {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
  return
}
