// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --split-long-reductions{parts=16} --canonicalize --cse | FileCheck %s

// 4096 elements become 16 sums of 256, which are added.

// CHECK-LABEL: func.func @sum
// CHECK:         tensor.expand_shape %arg0 {{.*}} : tensor<4096xi32> into tensor<16x256xi32>
// CHECK:         %[[PARTS:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}} outs(%{{.*}} : tensor<16xi32>)
// CHECK:         linalg.generic {{.*}}iterator_types = ["reduction"]{{.*}} ins(%[[PARTS]] : tensor<16xi32>)
func.func @sum(%a: tensor<4096xi32>, %zero: tensor<i32>) -> tensor<i32> {
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%a : tensor<4096xi32>) outs(%zero : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %0 = arith.addi %out, %in : i32
    linalg.yield %0 : i32
  } -> tensor<i32>
  return %s : tensor<i32>
}

// Each row has a tasklet already.

// CHECK-LABEL: func.func @rows
// CHECK-NOT:     tensor.expand_shape
func.func @rows(%a: tensor<64x4096xi32>, %zero: tensor<64xi32>) -> tensor<64xi32> {
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<64x4096xi32>) outs(%zero : tensor<64xi32>) {
  ^bb0(%in: i32, %out: i32):
    %0 = arith.addi %out, %in : i32
    linalg.yield %0 : i32
  } -> tensor<64xi32>
  return %s : tensor<64xi32>
}
