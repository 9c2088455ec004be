// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --split-reductions | FileCheck %s
// RUN: xtc-opt %s --split-reductions{sms=1} | FileCheck %s --check-prefix=SMALL

#in = affine_map<(d0, d1) -> (d0, d1)>
#all = affine_map<(d0, d1) -> ()>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// The sum of all elements: 512 parts, for 132 multiprocessors.
// CHECK-LABEL: func.func @all(
// CHECK:       %[[ZERO:.*]] = linalg.fill ins(%[[CST:.*]] : f32) outs(%{{.*}} : tensor<f32>)
// CHECK:       %[[CUT:.*]] = tensor.expand_shape %arg0 {{\[}}[0, 1], [2]] output_shape [512, 8, 4096]
// CHECK:       %[[ZEROS:.*]] = linalg.fill ins(%[[CST]] : f32) outs(%{{.*}} : tensor<512xf32>)
// CHECK:       %[[PARTS:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction", "parallel"]{{.*}} ins(%[[CUT]] : {{.*}}) outs(%[[ZEROS]]
// CHECK:         arith.addf
// CHECK:       %[[ALL:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]{{.*}} ins(%[[PARTS]] : tensor<512xf32>) outs(%[[ZERO]] : tensor<f32>)
// CHECK:         arith.addf
// CHECK:       return %[[ALL]]
// SMALL-LABEL: func.func @all(
// SMALL:       output_shape [4, 1024, 4096]
func.func @all(%a: tensor<4096x4096xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [#in, #all], iterator_types = ["reduction", "reduction"]}
    ins(%a : tensor<4096x4096xf32>) outs(%start : tensor<f32>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %s, %x : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// Rows of 65536 have 32 parts of 2048 each.
// CHECK-LABEL: func.func @rows(
// CHECK:       output_shape [3, 32, 2048]
// CHECK:       linalg.generic {{.*}} outs(%{{.*}} : tensor<3x32xf32>)
// CHECK:       linalg.generic {{.*}} ins(%{{.*}} : tensor<3x32xf32>) outs(%{{.*}} : tensor<3xf32>)
func.func @rows(%a: tensor<3x65536xf32>) -> tensor<3xf32> {
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<3xf32>
  %start = linalg.fill ins(%low : f32) outs(%empty : tensor<3xf32>) -> tensor<3xf32>
  %0 = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<3x65536xf32>) outs(%start : tensor<3xf32>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.maximumf %s, %x : f32
    linalg.yield %t : f32
  } -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Columns: a block has 32 of them, and the 64 parts of each column are added in order, elementwise.
// CHECK-LABEL: func.func @columns(
// CHECK:       output_shape [64, 64, 96]
// CHECK:       %[[PARTS:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]{{.*}} outs(%{{.*}} : tensor<64x96xf32>)
// CHECK:       %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]{{.*}} ins(%[[PARTS]], %[[PARTS]]
// CHECK-COUNT-63: arith.addf
// CHECK:       return %[[SUM]]
func.func @columns(%a: tensor<4096x96xf32>) -> tensor<96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<96xf32>) -> tensor<96xf32>
  %0 = linalg.generic {indexing_maps = [#in, #column], iterator_types = ["reduction", "parallel"]}
    ins(%a : tensor<4096x96xf32>) outs(%start : tensor<96xf32>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %s, %x : f32
    linalg.yield %t : f32
  } -> tensor<96xf32>
  return %0 : tensor<96xf32>
}

// Unchanged: enough rows, too short rows, initial values other than zero.
// CHECK-LABEL: func.func @left(
// CHECK-NOT:   expand_shape
func.func @left(%a: tensor<1024x65536xf32>, %b: tensor<2x2048xf32>, %c: tensor<2x65536xf32>, %r: tensor<1024xf32>, %s: tensor<2xf32>) -> (tensor<1024xf32>, tensor<2xf32>, tensor<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %many = linalg.fill ins(%zero : f32) outs(%r : tensor<1024xf32>) -> tensor<1024xf32>
  %0 = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<1024x65536xf32>) outs(%many : tensor<1024xf32>) {
  ^bb0(%x: f32, %y: f32):
    %t = arith.addf %y, %x : f32
    linalg.yield %t : f32
  } -> tensor<1024xf32>
  %two = linalg.fill ins(%zero : f32) outs(%s : tensor<2xf32>) -> tensor<2xf32>
  %1 = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%b : tensor<2x2048xf32>) outs(%two : tensor<2xf32>) {
  ^bb0(%x: f32, %y: f32):
    %t = arith.addf %y, %x : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  %ones = linalg.fill ins(%one : f32) outs(%s : tensor<2xf32>) -> tensor<2xf32>
  %2 = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%c : tensor<2x65536xf32>) outs(%ones : tensor<2xf32>) {
  ^bb0(%x: f32, %y: f32):
    %t = arith.addf %y, %x : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  return %0, %1, %2 : tensor<1024xf32>, tensor<2xf32>, tensor<2xf32>
}
