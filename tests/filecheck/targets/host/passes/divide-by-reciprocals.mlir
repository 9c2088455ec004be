// RUN: xtc-opt %s --divide-by-reciprocals | FileCheck %s

// A division that must be exact is unchanged.
// CHECK-LABEL: func.func @shares(
// CHECK-SAME:    %[[A:.*]]: f32, %[[B:.*]]: f32)
// CHECK:         %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK:         %[[R:.*]] = arith.divf %[[ONE]], %[[B]] : f32
// CHECK:         %[[Q:.*]] = arith.mulf %[[A]], %[[R]] : f32
// CHECK:         %[[E:.*]] = arith.divf %[[Q]], %[[B]] : f32
// CHECK:         return %[[E]]
func.func @shares(%a: f32, %b: f32) -> f32 {
  %0 = arith.divf %a, %b fastmath<arcp> : f32
  %1 = arith.divf %0, %b : f32
  return %1 : f32
}
