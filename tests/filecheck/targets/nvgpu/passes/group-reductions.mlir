// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --group-reductions | FileCheck %s

#in = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @sum(
// CHECK:       %[[E:.*]] = tensor.empty() {xtc.kernel = 0 : i64}
// CHECK:       %[[Z:.*]] = linalg.fill {xtc.kernel = 0 : i64} ins(%{{.*}}) outs(%[[E]]
// CHECK-NEXT:  linalg.generic {{.*}} outs(%[[Z]] : tensor<8xf32>) attrs = {nvgpu.reduction, xtc.kernel = 0 : i64}
func.func @sum(%a: tensor<8x40xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<8x40xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%x: f32, %t: f32):
    %u = arith.addf %t, %x : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// Alone: a sum that begins with something else, and one with a schedule of the user's.
// CHECK-LABEL: func.func @begun(
// CHECK-NOT:   xtc.kernel
func.func @begun(%a: tensor<8x40xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %s = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<8x40xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%x: f32, %t: f32):
    %u = arith.addf %t, %x : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}
func.func @scheduled(%a: tensor<8x40xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<8x40xf32>) outs(%z : tensor<8xf32>) attrs = {loop.schedule} {
  ^bb0(%x: f32, %t: f32):
    %u = arith.addf %t, %x : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}
