// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --order-loops | FileCheck %s

// j is innermost, since rows of b and c are contiguous along it. b is large, so i is inside of k:
// eight rows share one read of it.

// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d1, d0)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @product
// CHECK: linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[C]]], iterator_types = ["reduction", "parallel", "parallel"]}
// CHECK-SAME: {__xtc_id_p_, loop.dims = ["k", "i", "j"], xtc.device = "d0"}
func.func @product(%a: tensor<8x256xf32>, %b: tensor<256x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %p = linalg.matmul {__xtc_id_p_, loop.dims = ["i", "j", "k"], xtc.device = "d0"}
      ins(%a, %b : tensor<8x256xf32>, tensor<256x64xf32>) outs(%c : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %p : tensor<8x64xf32>
}

// CHECK-LABEL: func.func @convolution
// CHECK: loop.dims = ["n", "h", "w", "r", "s", "c", "f"]
func.func @convolution(%x: tensor<1x6x6x4xf32>, %w: tensor<3x3x4x8xf32>, %y: tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> {
  %c = linalg.conv_2d_nhwc_hwcf {loop.dims = ["n", "h", "w", "f", "r", "s", "c"]}
      ins(%x, %w : tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) outs(%y : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %c : tensor<1x4x4x8xf32>
}

// Eight row sums side by side: the order of each is fixed, but they are independent.

// CHECK-LABEL: func.func @sums
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
func.func @sums(%x: tensor<8x32xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %s = linalg.reduce { arith.addf } ins(%x : tensor<8x32xf32>) outs(%y : tensor<8xf32>) dimensions = [1]
  return %s : tensor<8xf32>
}

// Maxima along rows may be reduced in any order, so that loop is vectorized.

// CHECK-LABEL: func.func @maxima
// CHECK: linalg.reduce
func.func @maxima(%x: tensor<8x32xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %s = linalg.reduce { arith.maximumf } ins(%x : tensor<8x32xf32>) outs(%y : tensor<8xf32>) dimensions = [1]
  return %s : tensor<8xf32>
}

// CHECK-LABEL: func.func @scheduled
// CHECK: linalg.matmul {loop.schedule = "..."}
func.func @scheduled(%a: tensor<8x256xf32>, %b: tensor<256x64xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %p = linalg.matmul {loop.schedule = "..."}
      ins(%a, %b : tensor<8x256xf32>, tensor<256x64xf32>) outs(%c : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %p : tensor<8x64xf32>
}
