// RUN: xtc-opt %s --expand-math | FileCheck %s

// No call of the C library remains for float32, on scalars or on vectors.

// CHECK-LABEL: func.func @scalars
// CHECK-NOT: math.
// CHECK: arith.bitcast %{{.*}} : f32 to i32
// CHECK: arith.shli %{{.*}} : i32
// CHECK: arith.divf %{{.*}} : f32
// CHECK: return
func.func @scalars(%x: f32) -> (f32, f32, f32) {
  %e = math.exp %x : f32
  %t = math.tanh %x : f32
  %f = math.erf %x : f32
  return %e, %t, %f : f32, f32, f32
}

// CHECK-LABEL: func.func @vectors
// CHECK: arith.constant dense<8.900000e+01> : vector<16xf32>
// CHECK-NOT: math.
// CHECK: arith.shli %{{.*}} : vector<16xi32>
func.func @vectors(%x: vector<16xf32>) -> vector<16xf32> {
  %e = math.exp %x : vector<16xf32>
  return %e : vector<16xf32>
}

// Marked operations cannot overflow, and give 0 instead of subnormal results: 0 is multiplied by a
// power of two, since processors are slow for subnormal products.

// CHECK-LABEL: func.func @at_most_zero
// CHECK-NOT: 8.900000e+01
// CHECK: %[[LEAST:.*]] = arith.constant -8.725000e+01 : f32
// CHECK: %[[NONE:.*]] = arith.cmpf olt, %{{.*}}, %[[LEAST]] : f32
// CHECK-NOT: 8.900000e+01
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[POWER:.*]] = arith.select %[[NONE]], %[[ZERO]], %{{.*}} : f32
// CHECK: arith.mulf %[[POWER]], %{{.*}} : f32
// CHECK: return
func.func @at_most_zero(%x: f32) -> f32 {
  %e = math.exp %x {xtc.at_most_zero} : f32
  return %e : f32
}

// The other functions are calls of the library.

// CHECK-LABEL: func.func @left_alone
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.log %{{.*}} : f32
func.func @left_alone(%x: f64, %y: f32) -> (f64, f32) {
  %e = math.exp %x : f64
  %l = math.log %y : f32
  return %e, %l : f64, f32
}
