// RUN: xtc-opt %s --divide-exactly | FileCheck %s

// Only the permission to multiply by the reciprocal is removed.
// CHECK-LABEL: func.func @share(
// CHECK:         arith.divf %{{.*}}, %{{.*}} : f32
// CHECK:         arith.divf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK:         arith.mulf %{{.*}}, %{{.*}} fastmath<arcp> : f32
func.func @share(%a: f32, %b: f32) -> f32 {
  %0 = arith.divf %a, %b fastmath<arcp> : f32
  %1 = arith.divf %0, %b fastmath<arcp, contract> : f32
  %2 = arith.mulf %1, %b fastmath<arcp> : f32
  return %2 : f32
}
