// RUN: xtc-opt %s --contract-multiply-adds | FileCheck %s
// RUN: xtc-opt %s --contract-multiply-adds{least-bits=64} | FileCheck %s --check-prefix=WIDE

// A multiplication whose only user is an addition may be fused with it; one with another user may not.

// CHECK-LABEL: func.func @f
// CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK: arith.addf %{{.*}}, %[[P]] fastmath<contract> : f32
// CHECK: %[[Q:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: arith.addf %{{.*}}, %[[Q]] : f32
// WIDE-NOT: fastmath
func.func @f(%a: f32, %b: f32, %t: f32) -> (f32, f32, f32) {
  %p = arith.mulf %a, %b : f32
  %s = arith.addf %t, %p : f32
  %q = arith.mulf %b, %b : f32
  %r = arith.addf %t, %q : f32
  return %s, %r, %q : f32, f32, f32
}
