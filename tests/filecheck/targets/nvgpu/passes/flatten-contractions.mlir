// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --flatten-contractions --canonicalize | FileCheck %s
// RUN: xtc-opt %s --flatten-contractions{most-bytes=100000} | FileCheck %s --check-prefix=LARGE
// RUN: not xtc-opt %s --flatten-contractions{most-bytes=0} 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: option 'most_bytes' of pass 'flatten-contractions' is 0

// Each window becomes a row of a matrix; the epilogue is computed on matrices, too.
// CHECK-LABEL: func.func @windows(
// CHECK:       %[[B:.*]] = tensor.collapse_shape %arg1 {{\[}}[0, 1, 2], [3]] : tensor<3x3x32x64xf16> into tensor<288x64xf16>
// CHECK:       %[[A:.*]] = scf.forall (%[[T:.*]]) in (7056) shared_outs({{.*}}) -> (tensor<196x288xf16>)
// CHECK:         %[[AT:.*]]:2 = affine.delinearize_index %[[T]] into (196, 36)
// CHECK:         %[[PIXEL:.*]]:2 = affine.delinearize_index %[[AT]]#0 into (14, 14)
// CHECK:         %[[TAP:.*]]:3 = affine.delinearize_index %[[AT]]#1 into (3, 3, 4)
// CHECK:         %[[CHANNEL:.*]] = arith.muli %[[TAP]]#2, %c8
// CHECK:         %[[Y:.*]] = arith.addi %[[PIXEL]]#0, %[[TAP]]#0
// CHECK:         %[[X:.*]] = arith.addi %[[PIXEL]]#1, %[[TAP]]#1
// CHECK-NOT:     arith.select
// CHECK:         vector.transfer_read %arg0[%c0, %[[Y]], %[[X]], %[[CHANNEL]]], {{.*}} vector<8xf16>
// CHECK:       } {__xtc_id_C.patches_}
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

// The border of a padded image is not read, and the padded image is not needed: a pixel outside is
// replaced by the value of the border. Nothing leaves the image along channels.
// CHECK-LABEL: func.func @border(
// CHECK-NOT:   tensor.insert_slice
// CHECK:       scf.forall {{.*}} in (7056)
// CHECK:         %[[Y:.*]] = arith.addi %{{.*}}, %c-1
// CHECK:         %[[X:.*]] = arith.addi %{{.*}}, %c-1
// CHECK:         %[[INY:.*]] = arith.cmpi ult, %[[Y]], %c14
// CHECK:         %[[INX:.*]] = arith.cmpi ult, %[[X]], %c14
// CHECK-NOT:     arith.cmpi
// CHECK:         %[[AY:.*]] = arith.select %[[INY]], %[[Y]], %c0
// CHECK:         %[[AX:.*]] = arith.select %[[INX]], %[[X]], %c0
// CHECK:         %[[READ:.*]] = vector.transfer_read %arg0[%c0, %[[AY]], %[[AX]], %{{.*}}], {{.*}} vector<8xf16>
// CHECK:         %[[ROW:.*]] = arith.select %[[INY]], %[[READ]], %[[ONES:.*]] : vector<8xf16>
// CHECK:         %[[WINDOW:.*]] = arith.select %[[INX]], %[[ROW]], %[[ONES]] : vector<8xf16>
// CHECK:         vector.transfer_write %[[WINDOW]]
// CHECK-NOT:   tensor.insert_slice
// CHECK:       return
func.func @border(%x: tensor<1x14x14x32xf16>, %w: tensor<3x3x32x64xf16>) -> tensor<1x14x14x64xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f16
  %b = tensor.empty() : tensor<1x16x16x32xf16>
  %f = linalg.fill ins(%one : f16) outs(%b : tensor<1x16x16x32xf16>) -> tensor<1x16x16x32xf16>
  %p = tensor.insert_slice %x into %f[0, 1, 1, 0] [1, 14, 14, 32] [1, 1, 1, 1] : tensor<1x14x14x32xf16> into tensor<1x16x16x32xf16>
  %e = tensor.empty() : tensor<1x14x14x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%p, %w : tensor<1x16x16x32xf16>, tensor<3x3x32x64xf16>) outs(%z : tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  return %c : tensor<1x14x14x64xf32>
}

// Rows of 147 elements are padded to 152, a multiple of 16 bytes, and so are the filters.
// CHECK-LABEL: func.func @few_channels(
// CHECK:       %[[A:.*]] = scf.forall {{.*}} -> (tensor<169x152xf16>)
// CHECK:         %[[AT:.*]]:2 = affine.delinearize_index %{{.*}} into (169, 152)
// CHECK:         %[[IN:.*]] = arith.cmpi ult, %[[AT]]#1, %c147
// CHECK:         arith.select %[[IN]], %{{.*}}, %{{.*}} : vector<1xf16>
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
