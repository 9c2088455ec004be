// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --call-external-functions | FileCheck %s

// The extents are those of the replaced loops; strides count elements, also along an index that is a
// sum, and are 0 if a loop does not index an operand.

// CHECK:      module attributes {xtc.externals = [{
// CHECK-SAME: void xtc_f_tile0(intptr_t address0, intptr_t address1, intptr_t address2)
// CHECK-SAME: f((float *)address0, (const float *)address1, (const float *)address2, 4, 2, 32, 0, 6, 3, 0, 32)
// CHECK-SAME: declaration = "int32_t f(
// CHECK-SAME: float *result, const float *operand0, const float *operand1,
// CHECK-SAME: int64_t extent_w, int64_t extent_c,
// CHECK-SAME: int64_t result_stride_w, int64_t result_stride_c,
// CHECK-SAME: int64_t operand0_stride_w, int64_t operand0_stride_c,
// CHECK-SAME: int64_t operand1_stride_w, int64_t operand1_stride_c)"
// CHECK-SAME: flags = ["-DN=1"], function = "f", sources = ["f.c"]
// CHECK:      func.func private @xtc_f_tile0(index, index, index)

// CHECK-LABEL: func.func @product(
// CHECK-SAME:    %[[X:.*]]: memref<9x3xf32>, %[[W:.*]]: memref<2x32xf32>, %[[Y:.*]]: memref<8x32xf32>, %[[I:.*]]: index
// CHECK-DAG:     %[[AT_Y:.*]] = memref.extract_aligned_pointer_as_index %[[Y]]
// CHECK-DAG:     %[[ROW:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK-DAG:     memref.extract_aligned_pointer_as_index %[[X]]
// CHECK-DAG:     memref.extract_aligned_pointer_as_index %[[W]]
// CHECK:         call @xtc_f_tile0(
// CHECK-NOT:     linalg.generic
func.func @product(%x: memref<9x3xf32>, %w: memref<2x32xf32>, %y: memref<8x32xf32>, %i: index) {
  %tile = memref.subview %y[%i, 0] [4, 1] [1, 1]
      : memref<8x32xf32> to memref<4x1xf32, strided<[32, 1], offset: ?>>
  %column = memref.subview %w[0, 5] [2, 1] [1, 1]
      : memref<2x32xf32> to memref<2x1xf32, strided<[32, 1], offset: 5>>
  linalg.generic {
    indexing_maps = [affine_map<(w, f, c) -> (w * 2 + c, 0)>, affine_map<(w, f, c) -> (c, f)>,
                     affine_map<(w, f, c) -> (w, f)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %column : memref<9x3xf32>, memref<2x1xf32, strided<[32, 1], offset: 5>>)
    outs(%tile : memref<4x1xf32, strided<[32, 1], offset: ?>>)
    attrs = {__xtc_id_C_, xtc.external = {function = "f", sources = ["f.c"], flags = ["-DN=1"],
             loops = array<i64: 0, 2>, names = ["w", "c"]}} {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
