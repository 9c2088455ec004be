// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --group-rows | FileCheck %s

#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#one = affine_map<(i) -> (i)>

// The sum and its initial zeros move to the elementwise operation that scales by it. The exponential
// of the bias computes no rows; the preceding residual and the view between join.
// CHECK-LABEL: func.func @normalized(
// CHECK:       %[[B:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #{{.*}}], iterator_types = ["parallel"]} ins(%arg2
// CHECK:       linalg.generic
// CHECK-SAME:  nvgpu.rows = array<i64: 0, 1>, xtc.kernel = 0 : i64
// CHECK:       linalg.fill {xtc.kernel = 0 : i64}
// CHECK-NEXT:  %[[S:.*]] = linalg.generic
// CHECK-SAME:  nvgpu.rows = array<i64: 0, 1>, xtc.kernel = 0 : i64
// CHECK:       tensor.expand_shape %[[S]]
// CHECK-NOT:   linalg.fill
// CHECK:       linalg.generic
// CHECK-SAME:  %[[B]]
// CHECK-SAME:  nvgpu.rows = array<i64: 0, 1>, xtc.kernel = 0 : i64
func.func @normalized(%a: tensor<32x64xf32>, %x: tensor<32x64xf32>, %bias: tensor<64xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x64xf32>
  %f = tensor.empty() : tensor<32xf32>
  %g = tensor.empty() : tensor<64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<32xf32>) -> tensor<32xf32>
  %r = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
       ins(%a, %x : tensor<32x64xf32>, tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %v = arith.addf %in, %other : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  %s = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
       ins(%r : tensor<32x64xf32>) outs(%z : tensor<32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %out, %in : f32
    linalg.yield %v : f32
  } -> tensor<32xf32>
  %b = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
       ins(%bias : tensor<64xf32>) outs(%g : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<64xf32>
  %t = tensor.expand_shape %s [[0, 1]] output_shape [32, 1] : tensor<32xf32> into tensor<32x1xf32>
  %y = linalg.generic {indexing_maps = [#whole, affine_map<(i, j) -> (i, 0)>, #column, #whole],
       iterator_types = ["parallel", "parallel"]}
       ins(%r, %t, %b : tensor<32x64xf32>, tensor<32x1xf32>, tensor<64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%in: f32, %sum: f32, %c: f32, %out: f32):
    %v = arith.divf %in, %sum : f32
    %w = arith.addf %v, %c : f32
    linalg.yield %w : f32
  } -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}

// An operation on all rows between reduction and division would have to run in the middle of the
// kernel: the division stays separate, and the sum alone is not a group.
// CHECK-LABEL: func.func @through_all_rows(
// CHECK-NOT:   xtc.kernel
func.func @through_all_rows(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = tensor.empty() : tensor<32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<32xf32>) -> tensor<32xf32>
  %s = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
       ins(%x : tensor<32x32xf32>) outs(%z : tensor<32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %out, %in : f32
    linalg.yield %v : f32
  } -> tensor<32xf32>
  %y = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel"]}
       ins(%x, %s : tensor<32x32xf32>, tensor<32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %v = arith.divf %in, %sum : f32
    linalg.yield %v : f32
  } -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// A row of 65536 elements does not fit in the registers of a block, and an operation with a user
// schedule is unchanged.
// CHECK-LABEL: func.func @left(
// CHECK-NOT:   xtc.kernel
func.func @left(%x: tensor<2x65536xf32>, %u: tensor<32x64xf32>) -> (tensor<2x65536xf32>, tensor<32x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x65536xf32>
  %f = tensor.empty() : tensor<2xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<2xf32>) -> tensor<2xf32>
  %s = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
       ins(%x : tensor<2x65536xf32>) outs(%z : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %out, %in : f32
    linalg.yield %v : f32
  } -> tensor<2xf32>
  %y = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}
       ins(%x, %s : tensor<2x65536xf32>, tensor<2xf32>) outs(%e : tensor<2x65536xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %v = arith.divf %in, %sum : f32
    linalg.yield %v : f32
  } -> tensor<2x65536xf32>
  %g = tensor.empty() : tensor<32x64xf32>
  %h = tensor.empty() : tensor<32xf32>
  %w = linalg.fill ins(%zero : f32) outs(%h : tensor<32xf32>) -> tensor<32xf32>
  %t = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
       ins(%u : tensor<32x64xf32>) outs(%w : tensor<32xf32>) attrs = {loop.schedule = []} {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %out, %in : f32
    linalg.yield %v : f32
  } -> tensor<32xf32>
  %r = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}
       ins(%u, %t : tensor<32x64xf32>, tensor<32xf32>) outs(%g : tensor<32x64xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %v = arith.divf %in, %sum : f32
    linalg.yield %v : f32
  } -> tensor<32x64xf32>
  return %y, %r : tensor<2x65536xf32>, tensor<32x64xf32>
}
