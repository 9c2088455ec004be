// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --separate-results | FileCheck %s

// Each result has a separate buffer.
// CHECK-LABEL: func.func @twice
// CHECK:      %[[A:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT: linalg.fill
// CHECK-NEXT: %[[B:.*]] = memref.alloc() : memref<4xf32>
// CHECK-NEXT: memref.copy %[[A]], %[[B]] : memref<4xf32> to memref<4xf32>
// CHECK-NEXT: %[[C:.*]] = memref.alloc() : memref<4xf32>
// CHECK-NEXT: memref.copy %[[A]], %[[C]] : memref<4xf32> to memref<4xf32>
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]] :
func.func @twice(%x: f32) -> (memref<4xf32>, memref<4xf32>, memref<4xf32>) {
  %a = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  linalg.fill ins(%x : f32) outs(%a : memref<4xf32>)
  return %a, %a, %a : memref<4xf32>, memref<4xf32>, memref<4xf32>
}

// Different results are unchanged.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: memref.copy
// CHECK: return %arg0, %{{.*}} :
func.func @apart(%a: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %b = memref.alloc() : memref<4xf32>
  return %a, %b : memref<4xf32>, memref<4xf32>
}
