// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --call-micro-kernels --canonicalize --cse | FileCheck %s

// Six rows are four and two; 20 columns are 16 and four. Arguments: the K extent, then a, its strides
// along rows and K, b, its stride along K, c, its stride along rows.

// CHECK-LABEL: func.func @ends
// CHECK-DAG: %[[A:.*]] = memref.extract_aligned_pointer_as_index %arg0
// CHECK-DAG: %[[B:.*]] = memref.extract_aligned_pointer_as_index %arg1
// CHECK-DAG: %[[C:.*]] = memref.extract_aligned_pointer_as_index %arg2
// CHECK: call @uk_mma_4x16_f32(%c9, %[[A]], %c9, %c1, %[[B]], %c20, %[[C]], %c20)
// CHECK: call @uk_mma_4x4_f32(
// CHECK: call @uk_mma_2x16_f32(
// CHECK: call @uk_mma_2x4_f32(
// CHECK-NOT: linalg.matmul
func.func @ends(%a: memref<6x9xf32>, %b: memref<9x20xf32>, %c: memref<6x20xf32>) {
  linalg.matmul ins(%a, %b : memref<6x9xf32>, memref<9x20xf32>) outs(%c : memref<6x20xf32>)
  return
}

// A convolution with channels last: rows are pixels, columns filters, K is channels.

// CHECK-LABEL: func.func @convolution
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: call @uk_mma_4x16_f32(%c32, %{{.*}}, %c64, %c1, %{{.*}}, %c16, %{{.*}}, %c16)
func.func @convolution(%x: memref<1x9x9x32xf32>, %k: memref<3x3x32x16xf32>, %y: memref<1x4x4x16xf32>) {
  linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>}
    ins(%x, %k : memref<1x9x9x32xf32>, memref<3x3x32x16xf32>) outs(%y : memref<1x4x4x16xf32>)
  return
}

// Loops stay: an operand that is not contiguous along the columns, and a multiplication that is not accumulated.

// CHECK-LABEL: func.func @others
// CHECK-NOT: call
// CHECK: linalg.matmul
// CHECK: linalg.mul
func.func @others(%a: memref<6x9xf32>, %b: memref<20x9xf32>, %c: memref<6x20xf32>) {
  linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
    ins(%a, %b : memref<6x9xf32>, memref<20x9xf32>) outs(%c : memref<6x20xf32>)
  linalg.mul ins(%c, %c : memref<6x20xf32>, memref<6x20xf32>) outs(%c : memref<6x20xf32>)
  return
}

// A number of rows that is known only at run time: the remainder of fours is computed row by row.

// CHECK-LABEL: func.func @tail
// CHECK: %[[FOURS:.*]] = arith.divsi %[[N:.*]], %c4
// CHECK: %[[REST:.*]] = arith.remsi %[[N]], %c4
// CHECK: scf.for %{{.*}} = %c0 to %[[FOURS]] step %c1 {
// CHECK: call @uk_mma_4x16_i8
// CHECK: scf.for %{{.*}} = %c0 to %[[REST]] step %c1 {
// CHECK: call @uk_mma_1x16_i8
func.func @tail(%a: memref<8x8xi8>, %b: memref<8x16xi8>, %c: memref<8x16xi32>, %n: index) {
  %x = memref.subview %a[0, 0] [%n, 8] [1, 1] : memref<8x8xi8> to memref<?x8xi8, strided<[8, 1]>>
  %y = memref.subview %c[0, 0] [%n, 16] [1, 1] : memref<8x16xi32> to memref<?x16xi32, strided<[16, 1]>>
  linalg.matmul ins(%x, %b : memref<?x8xi8, strided<[8, 1]>>, memref<8x16xi8>) outs(%y : memref<?x16xi32, strided<[16, 1]>>)
  return
}
