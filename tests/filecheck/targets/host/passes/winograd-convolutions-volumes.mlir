// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--winograd-convolutions{l2-bytes=2097152 parallel=false}' | FileCheck %s

// The filters of each tap along the depth are a constant. The middle one reads all frames, the
// others read no border. Frames are transformed once.

// CHECK: xtc.transformed = {
// CHECK-SAME: w.transformed = [@w, {{.*}}, array<i64: 0, 3>]
// CHECK-SAME: w.transformed1 = [@w, {{.*}}, array<i64: 1, 3>]
// CHECK-SAME: w.transformed2 = [@w, {{.*}}, array<i64: 2, 3>]
// CHECK-LABEL: func.func @volume
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 1, 1, 0] {{.*}} into tensor<4x10x10x32xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x4x4x4x4x32xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[V:.*]], %{{.*}} : tensor<16x64x32xf32>, {{.*}} outs(%{{.*}} : tensor<16x64x16xf32>)
// CHECK: tensor.extract_slice %[[V]][0, 0, 0] [16, 48, 32]
// CHECK: tensor.extract_slice %{{.*}}[0, 16, 0] [16, 48, 16]
// CHECK: tensor.extract_slice %[[V]][0, 16, 0] [16, 48, 32]
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0] [16, 48, 16]
// CHECK: tensor.expand_shape {{.*}} into tensor<1x4x8x8x16xf32>

memref.global constant @w : memref<3x3x3x32x16xf32>
func.func @volume(%x: tensor<1x4x8x8x32xf32>) -> tensor<1x4x8x8x16xf32> {
  %0 = memref.get_global @w : memref<3x3x3x32x16xf32>
  %w = bufferization.to_tensor %0 restrict : memref<3x3x3x32x16xf32> to tensor<3x3x3x32x16xf32>
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<1x6x10x10x32xf32>
  %border = linalg.fill ins(%zero : f32) outs(%f : tensor<1x6x10x10x32xf32>) -> tensor<1x6x10x10x32xf32>
  %p = tensor.insert_slice %x into %border[0, 1, 1, 1, 0] [1, 4, 8, 8, 32] [1, 1, 1, 1, 1]
      : tensor<1x4x8x8x32xf32> into tensor<1x6x10x10x32xf32>
  %e = tensor.empty() : tensor<1x4x8x8x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x8x8x16xf32>) -> tensor<1x4x8x8x16xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(n, d, h, w, f, q, r, s, c) -> (n, d + q, h + r, w + s, c)>,
                       affine_map<(n, d, h, w, f, q, r, s, c) -> (q, r, s, c, f)>,
                       affine_map<(n, d, h, w, f, q, r, s, c) -> (n, d, h, w, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel",
                        "reduction", "reduction", "reduction", "reduction"]}
      ins(%p, %w : tensor<1x6x10x10x32xf32>, tensor<3x3x3x32x16xf32>)
      outs(%z : tensor<1x4x8x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x4x8x8x16xf32>
  return %y : tensor<1x4x8x8x16xf32>
}
