// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --check-promises | FileCheck %s
// RUN: xtc-opt %s --check-promises='simulated=0' | FileCheck %s --check-prefix=GPU

// CHECK:       llvm.func @cuda_require(i32, i32)
// CHECK-LABEL: func.func @f
// CHECK-NEXT:  %[[WORD:.*]] = arith.extui %arg0 : i1 to i32
// CHECK-NEXT:  %[[NUMBER:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:  llvm.call @cuda_require(%[[WORD]], %[[NUMBER]])
// CHECK-NOT:   cf.assert

// GPU-NOT:     cuda_require
// GPU-LABEL:   func.func @f
// GPU-NEXT:    return
func.func @f(%holds: i1) {
  cf.assert %holds, "step:2"
  return
}
