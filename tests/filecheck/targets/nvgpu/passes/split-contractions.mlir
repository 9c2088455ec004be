// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --split-contractions{bulk-copies=true} | FileCheck %s
// RUN: xtc-opt %s "--split-contractions{arch=sm_80 sms=108}" | FileCheck %s --check-prefix=SMALL
// RUN: xtc-opt %s "--split-contractions{tf32=true}" | FileCheck %s --check-prefix=TF32
// RUN: not xtc-opt %s --split-contractions{arch=sm_70} 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: option 'arch' of pass 'split-contractions' is 'sm_70'

// 16 tiles of 64 x 32 for 132 multiprocessors: K has 8 parts, which are added in order.
// CHECK-LABEL: func.func @few(
// CHECK:       %[[A:.*]] = tensor.expand_shape %arg0 {{\[}}[0], [1, 2]] output_shape [64, 8, 2048]
// CHECK:       %[[B:.*]] = tensor.expand_shape %arg1 {{\[}}[0, 1], [2]] output_shape [8, 2048, 512]
// CHECK:       %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<8x64x512xf32>)
// CHECK:       %[[PARTS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction", "parallel"]{{.*}} ins(%[[A]], %[[B]] : {{.*}}) outs(%[[ZEROS]]
// CHECK:         arith.mulf
// CHECK-NEXT:    arith.addf
// CHECK:       %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]{{.*}} ins(%[[PARTS]], %[[PARTS]]
// CHECK-SAME:    outs(%{{.*}} : tensor<64x512xf32>) attrs = {__xtc_id_C_}
// CHECK:         %[[FIRST:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:    %[[SECOND:.*]] = arith.addf %[[FIRST]]
// CHECK-COUNT-5: arith.addf
// CHECK-NEXT:    linalg.yield
// CHECK:       return %[[SUM]]
func.func @few(%a: tensor<64x16384xf16>, %b: tensor<16384x512xf16>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x512xf32>) -> tensor<64x512xf32>
  %m = linalg.matmul {__xtc_id_C_} ins(%a, %b : tensor<64x16384xf16>, tensor<16384x512xf16>)
       outs(%z : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %m : tensor<64x512xf32>
}

// A gradient of weights: the rows of the operands are along those of the result, and K is outermost
// in both.
// CHECK-LABEL: func.func @gradient(
// CHECK:       tensor.expand_shape %arg0 {{\[}}[0, 1], [2]] output_shape [8, 1024, 512]
// CHECK:       tensor.expand_shape %arg1 {{\[}}[0, 1], [2]] output_shape [8, 1024, 512]
// SMALL-LABEL: func.func @gradient(
// SMALL:       tensor.expand_shape %arg0 {{\[}}[0, 1], [2]] output_shape [16, 512, 512]
func.func @gradient(%a: tensor<8192x512xbf16>, %b: tensor<8192x512xbf16>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %m = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>,
       affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
       ins(%a, %b : tensor<8192x512xbf16>, tensor<8192x512xbf16>)
       outs(%z : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %m : tensor<512x512xf32>
}

// Not divided: a prime K extent, enough tiles, initial values other than zero, a user schedule; and
// float32, unless it may be rounded.
// CHECK-LABEL: func.func @prime(
// CHECK-NOT:   expand_shape
// TF32-LABEL:  func.func @prime(
// TF32-NOT:    expand_shape
func.func @prime(%a: tensor<64x16381xf16>, %b: tensor<16381x512xf16>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x512xf32>) -> tensor<64x512xf32>
  %m = linalg.matmul ins(%a, %b : tensor<64x16381xf16>, tensor<16381x512xf16>)
       outs(%z : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %m : tensor<64x512xf32>
}
func.func @enough(%a: tensor<16x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<16x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  %m = linalg.matmul ins(%a, %b : tensor<16x4096xf16>, tensor<4096x4096xf16>)
       outs(%z : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  return %m : tensor<16x4096xf32>
}
func.func @begun(%a: tensor<64x16384xf16>, %b: tensor<16384x512xf16>, %c: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %m = linalg.matmul ins(%a, %b : tensor<64x16384xf16>, tensor<16384x512xf16>)
       outs(%c : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %m : tensor<64x512xf32>
}
func.func @scheduled(%a: tensor<64x16384xf16>, %b: tensor<16384x512xf16>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x512xf32>) -> tensor<64x512xf32>
  %m = linalg.matmul {loop.schedule} ins(%a, %b : tensor<64x16384xf16>, tensor<16384x512xf16>)
       outs(%z : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %m : tensor<64x512xf32>
}
// TF32-LABEL: func.func @wide(
// TF32:       expand_shape
func.func @wide(%a: tensor<64x16384xf32>, %b: tensor<16384x512xf32>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64x512xf32>) -> tensor<64x512xf32>
  %m = linalg.matmul ins(%a, %b : tensor<64x16384xf32>, tensor<16384x512xf32>)
       outs(%z : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %m : tensor<64x512xf32>
}
