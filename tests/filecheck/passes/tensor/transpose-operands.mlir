// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --transpose-operands | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>

// 16 rows of a read each element of b 16 times: worth a copy in which j walks along rows.

// CHECK-LABEL: func.func @often
// CHECK: %[[T:.*]] = linalg.transpose ins(%arg1 : tensor<32x8xf32>) outs({{.*}} : tensor<8x32xf32>)
// CHECK-SAME: permutation = [1, 0] {__xtc_id_p.transpose_}
// CHECK: linalg.matmul {__xtc_id_p_} ins(%arg0, %[[T]] : tensor<16x8xf32>, tensor<8x32xf32>)
func.func @often(%a: tensor<16x8xf32>, %b: tensor<32x8xf32>, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %p = linalg.matmul indexing_maps = [#a, #b, #c] {__xtc_id_p_}
      ins(%a, %b : tensor<16x8xf32>, tensor<32x8xf32>) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %p : tensor<16x32xf32>
}

// CHECK-LABEL: func.func @once
// CHECK-NOT: linalg.transpose
func.func @once(%a: tensor<1x8xf32>, %b: tensor<32x8xf32>, %c: tensor<1x32xf32>) -> tensor<1x32xf32> {
  %p = linalg.matmul indexing_maps = [#a, #b, #c]
      ins(%a, %b : tensor<1x8xf32>, tensor<32x8xf32>) outs(%c : tensor<1x32xf32>) -> tensor<1x32xf32>
  return %p : tensor<1x32xf32>
}

// Of a batch of dot products, the batch stays the first dimension of a named operation's operands.

memref.global "private" constant @weights : memref<3x5x1xf32> = dense<1.0>

// RUN: xtc-opt %s --transpose-operands{constants=true} | FileCheck %s --check-prefix=BATCH
// BATCH-LABEL: func.func @dots
// BATCH-NOT: linalg.transpose
// BATCH: linalg.batch_matmul
func.func @dots(%a: tensor<3x1x5xf32>, %c: tensor<3x1x1xf32>) -> tensor<3x1x1xf32> {
  %w = memref.get_global @weights : memref<3x5x1xf32>
  %b = bufferization.to_tensor %w restrict : memref<3x5x1xf32> to tensor<3x5x1xf32>
  %p = linalg.batch_matmul ins(%a, %b : tensor<3x1x5xf32>, tensor<3x5x1xf32>)
      outs(%c : tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  return %p : tensor<3x1x1xf32>
}

// An operand that is computed from constants is transposed like a constant, and so is a constant that
// an elementwise operation then reads across its rows.

memref.global "private" constant @codes : memref<32x8xi8> = dense<1>
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

// BATCH-LABEL: func.func @computed
// BATCH: %[[W:.*]] = linalg.generic
// BATCH: %[[T:.*]] = linalg.transpose ins(%[[W]] : tensor<32x8xf32>) outs({{.*}} : tensor<8x32xf32>)
// BATCH: linalg.matmul ins(%arg0, %[[T]]
func.func @computed(%a: tensor<1x8xf32>, %c: tensor<1x32xf32>) -> tensor<1x32xf32> {
  %0 = memref.get_global @codes : memref<32x8xi8>
  %codes = bufferization.to_tensor %0 restrict : memref<32x8xi8> to tensor<32x8xi8>
  %e = tensor.empty() : tensor<32x8xf32>
  %w = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%codes : tensor<32x8xi8>) outs(%e : tensor<32x8xf32>) {
  ^bb0(%code: i8, %out: f32):
    %number = arith.sitofp %code : i8 to f32
    linalg.yield %number : f32
  } -> tensor<32x8xf32>
  %p = linalg.matmul indexing_maps = [#a, #b, #c]
      ins(%a, %w : tensor<1x8xf32>, tensor<32x8xf32>) outs(%c : tensor<1x32xf32>) -> tensor<1x32xf32>
  return %p : tensor<1x32xf32>
}

// BATCH-LABEL: func.func @elementwise
// BATCH: %[[T:.*]] = linalg.transpose ins(%{{.*}} : tensor<32x8xi8>) outs({{.*}} : tensor<8x32xi8>)
// BATCH: linalg.generic {{.*}} ins(%[[T]] : tensor<8x32xi8>)
func.func @elementwise(%e: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = memref.get_global @codes : memref<32x8xi8>
  %codes = bufferization.to_tensor %0 restrict : memref<32x8xi8> to tensor<32x8xi8>
  %w = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%codes : tensor<32x8xi8>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%code: i8, %out: f32):
    %number = arith.sitofp %code : i8 to f32
    linalg.yield %number : f32
  } -> tensor<8x32xf32>
  return %w : tensor<8x32xf32>
}
