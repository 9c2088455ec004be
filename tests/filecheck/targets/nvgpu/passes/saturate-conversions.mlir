// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --saturate-conversions | FileCheck %s

// CHECK-LABEL: func.func @scalars
// CHECK-NEXT:  llvm.call_intrinsic "llvm.fptosi.sat"(%arg0) : (f32) -> i32
// CHECK-NEXT:  llvm.call_intrinsic "llvm.fptoui.sat"(%arg1) : (f64) -> i64
func.func @scalars(%x: f32, %y: f64) -> (i32, i64) {
  %a = arith.fptosi %x : f32 to i32
  %b = arith.fptoui %y : f64 to i64
  return %a, %b : i32, i64
}

// CHECK-LABEL: func.func @narrow
// CHECK-NEXT:  %[[WIDE:.*]] = arith.extf %arg0 : vector<4xf16> to vector<4xf32>
// CHECK-NEXT:  llvm.call_intrinsic "llvm.fptoui.sat"(%[[WIDE]]) : (vector<4xf32>) -> vector<4xi32>
func.func @narrow(%x: vector<4xf16>) -> vector<4xi32> {
  %a = arith.fptoui %x : vector<4xf16> to vector<4xi32>
  return %a : vector<4xi32>
}

// CHECK-LABEL: func.func @others
// CHECK-NEXT:  arith.sitofp
func.func @others(%x: i32) -> f32 {
  %a = arith.sitofp %x : i32 to f32
  return %a : f32
}
