// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --call-libdevice | FileCheck %s

// CHECK-DAG: func.func private @__nv_expf(f32) -> f32
// CHECK-DAG: func.func private @__nv_erf(f64) -> f64
// CHECK-DAG: func.func private @__nv_powf(f32, f32) -> f32

// CHECK-LABEL: func.func @scalars
// CHECK:       call @__nv_expf(%{{.*}}) : (f32) -> f32
// CHECK:       call @__nv_erf(%{{.*}}) : (f64) -> f64
// CHECK:       math.sqrt
func.func @scalars(%x: f32, %y: f64) -> (f32, f64, f32) {
  %a = math.exp %x : f32
  %b = math.erf %y : f64
  %c = math.sqrt %x : f32
  return %a, %b, %c : f32, f64, f32
}

// CHECK-LABEL: func.func @of_two
// CHECK:       call @__nv_acosh(%{{.*}}) : (f64) -> f64
// CHECK:       call @__nv_atan2(%{{.*}}, %{{.*}}) : (f64, f64) -> f64
func.func @of_two(%x: f64, %y: f64) -> f64 {
  %a = math.acosh %x : f64
  %b = math.atan2 %a, %y : f64
  return %b : f64
}

// The library lacks functions of narrow floats.
// CHECK-LABEL: func.func @half
// CHECK:       %[[X:.*]] = arith.extf %arg0 : f16 to f32
// CHECK-NEXT:  %[[Y:.*]] = arith.extf %arg1 : f16 to f32
// CHECK-NEXT:  %[[Z:.*]] = call @__nv_powf(%[[X]], %[[Y]]) : (f32, f32) -> f32
// CHECK-NEXT:  arith.truncf %[[Z]] : f32 to f16
func.func @half(%x: f16, %y: f16) -> f16 {
  %z = math.powf %x, %y : f16
  return %z : f16
}

// CHECK-LABEL: func.func @vector
// CHECK:       %[[A:.*]] = vector.extract %arg0[0, 0] : f32 from vector<1x2xf32>
// CHECK-NEXT:  %[[FA:.*]] = call @__nv_expf(%[[A]])
// CHECK-NEXT:  %[[B:.*]] = vector.extract %arg0[0, 1]
// CHECK-NEXT:  %[[FB:.*]] = call @__nv_expf(%[[B]])
// CHECK-NEXT:  vector.from_elements %[[FA]], %[[FB]] : vector<1x2xf32>
func.func @vector(%x: vector<1x2xf32>) -> vector<1x2xf32> {
  %y = math.exp %x : vector<1x2xf32>
  return %y : vector<1x2xf32>
}

// 45 sines of 89 instructions are more than 4,000, and 45 exponentials of 12 are not.
// CHECK-LABEL: func.func @long
// CHECK-COUNT-45: call @xtc_nv_sinf(%{{.*}}) : (f32) -> f32
// CHECK-COUNT-45: call @__nv_expf(
func.func @long(%x: vector<45xf32>) -> vector<45xf32> {
  %y = math.sin %x : vector<45xf32>
  %z = math.exp %y : vector<45xf32>
  return %z : vector<45xf32>
}

// A kernel with wgmma has no calls.
// CHECK-LABEL: func.func @multiplies
// CHECK-COUNT-45: call @__nv_sinf(
func.func @multiplies(%x: vector<45xf32>) -> vector<45xf32> {
  nvvm.wgmma.fence.aligned
  %y = math.sin %x : vector<45xf32>
  return %y : vector<45xf32>
}

// CHECK-LABEL: func.func private @xtc_nv_sinf(%arg0: f32) -> f32
// CHECK-SAME:    llvm.linkage = #llvm.linkage<internal>
// CHECK-SAME:    passthrough = ["noinline"]
// CHECK-NEXT:    call @__nv_sinf(%arg0)
// CHECK-NEXT:    return
