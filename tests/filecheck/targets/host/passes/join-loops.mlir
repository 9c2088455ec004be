// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --join-loops | FileCheck %s

// Rows and columns of an image are one dimension, whether channels come first or last.

#nchw = affine_map<(c, h, w) -> (c, h, w)>
#nhwc = affine_map<(c, h, w) -> (h, w, c)>
#c = affine_map<(c, h, w) -> (c)>
// CHECK-DAG: #[[CP:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[PC:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @image
// CHECK-SAME: (%[[A:.*]]: memref<14x14x64xf32>, %[[F:.*]]: memref<64xf32>, %[[B:.*]]: memref<64x14x14xf32>)
// CHECK-DAG: %[[A2:.*]] = memref.collapse_shape %[[A]] {{\[}}[0, 1], [2]] : memref<14x14x64xf32> into memref<196x64xf32>
// CHECK-DAG: %[[B2:.*]] = memref.collapse_shape %[[B]] {{\[}}[0], [1, 2]] : memref<64x14x14xf32> into memref<64x196xf32>
// CHECK: linalg.generic {indexing_maps = [#[[PC]], #[[C]], #[[CP]]]
// CHECK-SAME: ins(%[[A2]], %[[F]] : memref<196x64xf32>, memref<64xf32>) outs(%[[B2]] : memref<64x196xf32>)
// CHECK: arith.mulf
func.func @image(%a: memref<14x14x64xf32>, %f: memref<64xf32>, %b: memref<64x14x14xf32>) {
  linalg.generic {indexing_maps = [#nhwc, #c, #nchw], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %f : memref<14x14x64xf32>, memref<64xf32>) outs(%b : memref<64x14x14xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  }
  return
}

// Rows with gaps are joined with the preceding dimension, if that has no gaps.

#ijk = affine_map<(i, j, k) -> (i, j, k)>
// CHECK-LABEL: func.func @gaps
// CHECK-SAME: (%[[A:.*]]: memref<4x5x6xf32, strided<[50, 10, 1]>>
// CHECK: memref.collapse_shape %[[A]] {{\[}}[0, 1], [2]]
// CHECK-SAME: into memref<20x6xf32, strided<[10, 1]>>
func.func @gaps(%a: memref<4x5x6xf32, strided<[50, 10, 1]>>, %b: memref<4x5x6xf32>) {
  linalg.generic {indexing_maps = [#ijk, #ijk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : memref<4x5x6xf32, strided<[50, 10, 1]>>) outs(%b : memref<4x5x6xf32>) {
  ^bb0(%x: f32, %old: f32):
    linalg.yield %x : f32
  }
  return
}

// Unchanged: an operand with only one of the two loops, or in another order; a loop whose index the
// body uses; a part of a dimension; sums.

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
#j = affine_map<(i, j) -> (j)>
#i = affine_map<(i, j) -> (i)>
#next = affine_map<(i, j) -> (i, j + 1)>
// CHECK-LABEL: func.func @others
// CHECK-NOT: memref.collapse_shape
// CHECK: return
func.func @others(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<4xf32>, %d: memref<4x5xf32>, %n: memref<4x4xindex>) {
  linalg.generic {indexing_maps = [#j, #ij], iterator_types = ["parallel", "parallel"]} ins(%c : memref<4xf32>) outs(%b : memref<4x4xf32>) {
  ^bb0(%x: f32, %old: f32):
    linalg.yield %x : f32
  }
  linalg.transpose ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) permutation = [1, 0]
  linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]} outs(%n : memref<4x4xindex>) {
  ^bb0(%old: index):
    %0 = linalg.index 0 : index
    linalg.yield %0 : index
  }
  linalg.generic {indexing_maps = [#next, #ij], iterator_types = ["parallel", "parallel"]} ins(%d : memref<4x5xf32>) outs(%b : memref<4x4xf32>) {
  ^bb0(%x: f32, %old: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%a : memref<4x4xf32>) outs(%c : memref<4xf32>) {
  ^bb0(%x: f32, %old: f32):
    %0 = arith.addf %x, %old : f32
    linalg.yield %0 : f32
  }
  return
}
