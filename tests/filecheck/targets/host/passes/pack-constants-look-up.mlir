// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --pack-constants | FileCheck %s

// A table that a loop packs is also read at a few computed positions: these are read from the tiles,
// of which the second ones begin at column 64, and the table is stored once.

// CHECK-COUNT-2: memref.global constant @table.packed
// CHECK-NOT:   memref.global constant @table
// CHECK-LABEL: func.func @look_up
// CHECK-DAG:     %[[FIRST:.*]] = bufferization.to_tensor %{{.*}} : memref<2x4x32xf32>
// CHECK-DAG:     %[[REST:.*]] = bufferization.to_tensor %{{.*}} : memref<4x16xf32>
// CHECK:         linalg.generic
// CHECK:           %[[ROW:.*]] = arith.index_cast
// CHECK:           %[[NUMBER:.*]] = arith.divsi %{{.*}}, %c32
// CHECK:           %[[A:.*]] = tensor.extract %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : tensor<2x4x32xf32>
// CHECK:           %[[B:.*]] = tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x16xf32>
// CHECK:           %[[IS_B:.*]] = arith.cmpi sge, %[[ROW]], %c64
// CHECK:           %[[C:.*]] = arith.select %[[IS_B]], %[[B]], %[[A]]
// CHECK:           linalg.yield %[[C]]
memref.global constant @table : memref<80x4xf32> {alignment = 64 : i64}
func.func @look_up(%a: tensor<8x4xf32>, %c: tensor<8x80xf32>, %ids: tensor<1xi32>, %y: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<8x80xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %0 = memref.get_global @table : memref<80x4xf32>
  %w = bufferization.to_tensor %0 restrict : memref<80x4xf32> to tensor<80x4xf32>
  %row = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<1xi32>) outs(%y : tensor<1x4xf32>) {
  ^bb0(%id: i32, %old: f32):
    %i = arith.index_cast %id : i32 to index
    %j = linalg.index 1 : index
    %e = tensor.extract %w[%i, %j] : tensor<80x4xf32>
    linalg.yield %e : f32
  } -> tensor<1x4xf32>
  %main = scf.for %j = %c0 to %c64 step %c32 iter_args(%into = %c) -> (tensor<8x80xf32>) {
    %tile = tensor.extract_slice %w[%j, 0] [32, 4] [1, 1] : tensor<80x4xf32> to tensor<32x4xf32>
    %e = tensor.empty() : tensor<4x32xf32>
    %panel = linalg.transpose ins(%tile : tensor<32x4xf32>) outs(%e : tensor<4x32xf32>) permutation = [1, 0]
    %part = tensor.extract_slice %into[0, %j] [8, 32] [1, 1] : tensor<8x80xf32> to tensor<8x32xf32>
    %sum = linalg.matmul ins(%a, %panel : tensor<8x4xf32>, tensor<4x32xf32>) outs(%part : tensor<8x32xf32>) -> tensor<8x32xf32>
    %next = tensor.insert_slice %sum into %into[0, %j] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<8x80xf32>
    scf.yield %next : tensor<8x80xf32>
  }
  %tile = tensor.extract_slice %w[64, 0] [16, 4] [1, 1] : tensor<80x4xf32> to tensor<16x4xf32>
  %e = tensor.empty() : tensor<4x16xf32>
  %panel = linalg.transpose ins(%tile : tensor<16x4xf32>) outs(%e : tensor<4x16xf32>) permutation = [1, 0]
  %part = tensor.extract_slice %main[0, 64] [8, 16] [1, 1] : tensor<8x80xf32> to tensor<8x16xf32>
  %sum = linalg.matmul ins(%a, %panel : tensor<8x4xf32>, tensor<4x16xf32>) outs(%part : tensor<8x16xf32>) -> tensor<8x16xf32>
  %all = tensor.insert_slice %sum into %main[0, 64] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x80xf32>
  return %row, %all : tensor<1x4xf32>, tensor<8x80xf32>
}

// Another function reads the last tile: it is not stored again.

// CHECK-LABEL: func.func @again
// CHECK:         memref.get_global @table.packed1
func.func @again(%a: tensor<8x4xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = memref.get_global @table : memref<80x4xf32>
  %w = bufferization.to_tensor %0 restrict : memref<80x4xf32> to tensor<80x4xf32>
  %tile = tensor.extract_slice %w[64, 0] [16, 4] [1, 1] : tensor<80x4xf32> to tensor<16x4xf32>
  %e = tensor.empty() : tensor<4x16xf32>
  %panel = linalg.transpose ins(%tile : tensor<16x4xf32>) outs(%e : tensor<4x16xf32>) permutation = [1, 0]
  %sum = linalg.matmul ins(%a, %panel : tensor<8x4xf32>, tensor<4x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %sum : tensor<8x16xf32>
}
