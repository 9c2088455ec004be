// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --expand-bf16 | FileCheck %s
// RUN: xtc-opt %s --expand-bf16{roundings=true} | FileCheck %s --check-prefix=ROUND

// CHECK-LABEL: func.func @widen
// CHECK:       %[[BITS:.*]] = arith.bitcast %arg0 : bf16 to i16
// CHECK:       %[[WIDE:.*]] = arith.extui %[[BITS]] : i16 to i32
// CHECK:       %[[UPPER:.*]] = arith.shli %[[WIDE]], %c16_i32
// CHECK:       arith.bitcast %[[UPPER]] : i32 to f32
func.func @widen(%x: bf16) -> f32 {
  %y = arith.extf %x : bf16 to f32
  return %y : f32
}

// A rounding that is not requested stays. A NaN whose bits might overflow by the rounding addition
// is replaced by a quiet one, 0x7FC0.

// CHECK-LABEL: func.func @round
// CHECK:       arith.truncf
// ROUND-LABEL: func.func @round
// ROUND-NOT:   arith.truncf
// ROUND:       arith.cmpf une, %arg0, %arg0 : vector<4xf32>
// ROUND:       arith.constant dense<32704> : vector<4xi16>
// ROUND:       arith.select
// ROUND:       arith.bitcast {{.*}} : vector<4xi16> to vector<4xbf16>
func.func @round(%x: vector<4xf32>) -> vector<4xbf16> {
  %y = arith.truncf %x : vector<4xf32> to vector<4xbf16>
  return %y : vector<4xbf16>
}

// Conversions to and from float64 go through float32.

// CHECK-LABEL: func.func @double
// CHECK:       %[[SINGLE:.*]] = arith.bitcast {{.*}} : i32 to f32
// CHECK:       arith.extf %[[SINGLE]] : f32 to f64
// CHECK:       %[[NEAR:.*]] = arith.truncf {{.*}} : f64 to f32
// CHECK:       arith.truncf %[[NEAR]] : f32 to bf16
func.func @double(%x: bf16) -> bf16 {
  %y = arith.extf %x : bf16 to f64
  %z = arith.truncf %y : f64 to bf16
  return %z : bf16
}
