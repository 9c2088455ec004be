// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --apply-schedules | FileCheck %s

// A fast-math flag in the file permits any order of the sum.
// CHECK-LABEL: func.func @dot(
// CHECK:         %[[ZERO:.*]] = linalg.fill
// CHECK:         %[[PARTS:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (tensor<16xf32>)
// CHECK:           arith.mulf {{.*}} : vector<16xf32>
// CHECK:           arith.addf {{.*}} : vector<16xf32>
// CHECK:         linalg.reduce ins(%[[PARTS]] : tensor<16xf32>)
// CHECK:           arith.addf {{.*}} fastmath<{{.*}}> : f32
func.func @dot(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
    iterator_types = ["reduction"]
  } ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%c : tensor<f32>)
    attrs = {loop.dims = ["k"], loop.schedule = ["k", "k#16=vectorize"]} {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %sum, %1 fastmath<fast> : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}
