// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --flatten-contractions --canonicalize | FileCheck %s
// RUN: xtc-opt %s --flatten-contractions{most-bytes=100000} | FileCheck %s --check-prefix=LARGE
// RUN: not xtc-opt %s --flatten-contractions{most-bytes=0} 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: option 'most_bytes' of pass 'flatten-contractions' is 0

// Each window becomes a row of a matrix; the epilogue is computed on matrices, too.
// CHECK-LABEL: func.func @windows(
// CHECK:       %[[PATCHES:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<1x16x16x32xf16>) outs(%{{.*}} : tensor<1x14x14x3x3x32xf16>) attrs = {__xtc_id_C.patches_}
// CHECK:       %[[A:.*]] = tensor.collapse_shape %[[PATCHES]] {{\[}}[0, 1, 2], [3, 4, 5]] : tensor<1x14x14x3x3x32xf16> into tensor<196x288xf16>
// CHECK:       %[[B:.*]] = tensor.collapse_shape %arg1 {{\[}}[0, 1, 2], [3]] : tensor<3x3x32x64xf16> into tensor<288x64xf16>
// CHECK:       %[[C:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]{{.*}} ins(%[[A]], %[[B]] : {{.*}} outs(%{{.*}} : tensor<196x64xf32>) attrs = {__xtc_id_C_}
// CHECK:       %[[BIASED:.*]] = linalg.generic {{.*}} ins(%[[C]], %arg2 : tensor<196x64xf32>, tensor<64xf32>) outs(%{{.*}} : tensor<196x64xf32>) attrs = {__xtc_id_D_}
// CHECK:       %[[R:.*]] = tensor.expand_shape %[[BIASED]] {{\[}}[0, 1, 2], [3]] output_shape [1, 14, 14, 64]
// CHECK:       return %[[R]]
// The patches have 112,896 bytes.
// LARGE-LABEL: func.func @windows(
// LARGE-NOT:   collapse_shape
// LARGE:       linalg.conv_2d_nhwc_hwcf
func.func @windows(%x: tensor<1x16x16x32xf16>, %w: tensor<3x3x32x64xf16>, %b: tensor<64xf32>) -> tensor<1x14x14x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x14x14x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  %c = linalg.conv_2d_nhwc_hwcf {__xtc_id_C_, dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%x, %w : tensor<1x16x16x32xf16>, tensor<3x3x32x64xf16>) outs(%z : tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  %d = linalg.generic {__xtc_id_D_, indexing_maps = [affine_map<(n, h, w, f) -> (n, h, w, f)>,
       affine_map<(n, h, w, f) -> (f)>, affine_map<(n, h, w, f) -> (n, h, w, f)>],
       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
       ins(%c, %b : tensor<1x14x14x64xf32>, tensor<64xf32>) outs(%e : tensor<1x14x14x64xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %s = arith.addf %i, %j : f32
    linalg.yield %s : f32
  } -> tensor<1x14x14x64xf32>
  return %d : tensor<1x14x14x64xf32>
}

// Windows of one pixel are rows already: nothing is copied.
// CHECK-LABEL: func.func @pixels(
// CHECK-NOT:   patches
// CHECK:       tensor.collapse_shape %arg0 {{\[}}[0, 1, 2], [3]] : tensor<2x14x14x64xbf16> into tensor<392x64xbf16>
// CHECK:       linalg.generic {{.*}} outs(%{{.*}} : tensor<392x32xf32>)
// CHECK:       tensor.expand_shape
func.func @pixels(%x: tensor<2x14x14x64xbf16>, %w: tensor<1x1x64x32xbf16>) -> tensor<2x14x14x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x14x14x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x14x14x32xf32>) -> tensor<2x14x14x32xf32>
  %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%x, %w : tensor<2x14x14x64xbf16>, tensor<1x1x64x32xbf16>) outs(%z : tensor<2x14x14x32xf32>) -> tensor<2x14x14x32xf32>
  return %c : tensor<2x14x14x32xf32>
}

// Rows of 147 elements are padded to 152, a multiple of 16 bytes, and so are the filters.
// CHECK-LABEL: func.func @few_channels(
// CHECK:       %[[A:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<169x152xf16>)
// CHECK:       %[[B:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<152x64xf16>)
// CHECK:       linalg.generic {{.*}} ins(%[[A]], %[[B]] : {{.*}} outs(%{{.*}} : tensor<169x64xf32>)
func.func @few_channels(%x: tensor<1x31x31x3xf16>, %w: tensor<7x7x3x64xf16>) -> tensor<1x13x13x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x13x13x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x13x13x64xf32>) -> tensor<1x13x13x64xf32>
  %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
       ins(%x, %w : tensor<1x31x31x3xf16>, tensor<7x7x3x64xf16>) outs(%z : tensor<1x13x13x64xf32>) -> tensor<1x13x13x64xf32>
  return %c : tensor<1x13x13x64xf32>
}

// Unchanged: few filters, too little work for a tile, a schedule of the user's, depthwise windows, a
// matrix multiplication.
// CHECK-LABEL: func.func @few_filters(
// CHECK-NOT:   collapse_shape
func.func @few_filters(%x: tensor<1x16x16x32xf16>, %w: tensor<3x3x32x8xf16>) -> tensor<1x14x14x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x14x14x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32>
  %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%x, %w : tensor<1x16x16x32xf16>, tensor<3x3x32x8xf16>) outs(%z : tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32>
  return %c : tensor<1x14x14x8xf32>
}
// CHECK-LABEL: func.func @small(
// CHECK-NOT:   collapse_shape
func.func @small(%x: tensor<1x4x4x4xf32>, %w: tensor<3x3x4x16xf32>) -> tensor<1x2x2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2x2x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x2x16xf32>) -> tensor<1x2x2x16xf32>
  %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%x, %w : tensor<1x4x4x4xf32>, tensor<3x3x4x16xf32>) outs(%z : tensor<1x2x2x16xf32>) -> tensor<1x2x2x16xf32>
  return %c : tensor<1x2x2x16xf32>
}
// CHECK-LABEL: func.func @scheduled(
// CHECK-NOT:   collapse_shape
func.func @scheduled(%x: tensor<1x16x16x32xf16>, %w: tensor<3x3x32x64xf16>) -> tensor<1x14x14x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x14x14x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  %c = linalg.conv_2d_nhwc_hwcf {loop.schedule, dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%x, %w : tensor<1x16x16x32xf16>, tensor<3x3x32x64xf16>) outs(%z : tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  return %c : tensor<1x14x14x64xf32>
}
// CHECK-LABEL: func.func @depthwise(
// CHECK-NOT:   collapse_shape
func.func @depthwise(%x: tensor<1x16x16x64xf16>, %w: tensor<3x3x64xf16>) -> tensor<1x14x14x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x14x14x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  %c = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%x, %w : tensor<1x16x16x64xf16>, tensor<3x3x64xf16>) outs(%z : tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  return %c : tensor<1x14x14x64xf32>
}
