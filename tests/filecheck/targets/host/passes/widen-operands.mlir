// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --widen-operands | FileCheck %s

// The operand is widened before the loops, the panel where the schedule packs it.

// CHECK-LABEL: func.func @halves
// CHECK: %[[A:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<8x64xf16>) outs(%{{.*}} : tensor<8x64xf32>)
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<64x64xf16>) outs(%{{.*}} : tensor<64x64xf32>)
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[B]] : tensor<8x64xf32>, tensor<64x64xf32>)
// CHECK-SAME: loop.schedule = [{axis = "j", fuse = array<i64: 1>}, {axis = "i"}, {axis = "k"}, {axis = "j", tile = 32 : i64, vectorize}]
// CHECK-NOT: arith.extf
func.func @halves(%a: tensor<8x64xf16>, %b: tensor<64x64xf16>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["j=pack:1", "i", "k", "j#32=vectorize"]}
      ins(%a, %b : tensor<8x64xf16>, tensor<64x64xf16>) outs(%c : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// The source of a transposed copy is read, and written in the transposed order.

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: func.func @transposed
// CHECK: linalg.generic {{.*}} ins(%arg1 : tensor<32x64xbf16>) outs(%{{.*}} : tensor<64x32xf32>)
func.func @transposed(%a: tensor<8x64xbf16>, %b: tensor<32x64xbf16>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %e = tensor.empty() : tensor<64x32xbf16>
  %t = linalg.transpose ins(%b : tensor<32x64xbf16>) outs(%e : tensor<64x32xbf16>) permutation = [1, 0]
  %0 = linalg.matmul indexing_maps = [#a, #b, #c] {loop.dims = ["i", "j", "k"], loop.schedule = ["i", "k", "j=vectorize"]}
      ins(%a, %t : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// Integers, and loops without vectors, are unchanged.

// CHECK-LABEL: func.func @others
// CHECK-NOT: outs(%{{.*}}xf32>)
// CHECK: ins(%arg0, %arg1 : tensor<8x64xi8>, tensor<64x64xi8>)
// CHECK: ins(%arg3, %arg4 : tensor<8x64xf16>, tensor<64x64xf16>)
func.func @others(%a: tensor<8x64xi8>, %b: tensor<64x64xi8>, %c: tensor<8x64xi32>,
    %d: tensor<8x64xf16>, %e: tensor<64x64xf16>, %f: tensor<8x64xf32>) -> (tensor<8x64xi32>, tensor<8x64xf32>) {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["i", "k", "j=vectorize"]}
      ins(%a, %b : tensor<8x64xi8>, tensor<64x64xi8>) outs(%c : tensor<8x64xi32>) -> tensor<8x64xi32>
  %1 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["i", "k", "j"]}
      ins(%d, %e : tensor<8x64xf16>, tensor<64x64xf16>) outs(%f : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0, %1 : tensor<8x64xi32>, tensor<8x64xf32>
}
