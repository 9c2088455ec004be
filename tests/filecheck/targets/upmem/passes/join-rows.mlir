// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --join-fills '--join-rows{dpus=4}' | FileCheck %s
// RUN: xtc-opt %s --join-fills '--join-rows{dpus=1}' | FileCheck %s --check-prefix=ALONE

// Each row of %d depends on one row of %c.
// CHECK-LABEL: func.func @chain
// CHECK:       linalg.fill {xtc.kernel = [[N:.*]] : i64}
// CHECK:       linalg.matmul {xtc.kernel = [[N]] : i64}
// CHECK:       linalg.fill {xtc.kernel = [[N]] : i64}
// CHECK:       linalg.matmul {xtc.kernel = [[N]] : i64}
func.func @chain(%a: tensor<16x8xi32>, %v: tensor<8x4xi32>, %w: tensor<4x2xi32>) -> tensor<16x2xi32> {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<16x4xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<16x4xi32>) -> tensor<16x4xi32>
  %c = linalg.matmul ins(%a, %v : tensor<16x8xi32>, tensor<8x4xi32>) outs(%1 : tensor<16x4xi32>) -> tensor<16x4xi32>
  %2 = tensor.empty() : tensor<16x2xi32>
  %3 = linalg.fill ins(%zero : i32) outs(%2 : tensor<16x2xi32>) -> tensor<16x2xi32>
  %d = linalg.matmul ins(%c, %w : tensor<16x4xi32>, tensor<4x2xi32>) outs(%3 : tensor<16x2xi32>) -> tensor<16x2xi32>
  return %d : tensor<16x2xi32>
}

// Each row needs all of %c: another launch, except on a single DPU, which has everything.
// CHECK-LABEL: func.func @whole
// CHECK:       linalg.matmul {xtc.kernel = [[N:.*]] : i64}
// CHECK-NOT:   linalg.matmul {xtc.kernel = [[N]] : i64}
// CHECK:       linalg.matmul {xtc.kernel = {{.*}} : i64}
// ALONE-LABEL: func.func @whole
// ALONE:       linalg.matmul {xtc.kernel = [[N:.*]] : i64}
// ALONE:       linalg.matmul {xtc.kernel = [[N]] : i64}
func.func @whole(%a: tensor<16x16xi32>, %v: tensor<16x16xi32>) -> tensor<16x16xi32> {
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<16x16xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<16x16xi32>) -> tensor<16x16xi32>
  %c = linalg.matmul ins(%a, %v : tensor<16x16xi32>, tensor<16x16xi32>) outs(%1 : tensor<16x16xi32>) -> tensor<16x16xi32>
  %2 = tensor.empty() : tensor<16x16xi32>
  %3 = linalg.fill ins(%zero : i32) outs(%2 : tensor<16x16xi32>) -> tensor<16x16xi32>
  %d = linalg.matmul ins(%a, %c : tensor<16x16xi32>, tensor<16x16xi32>) outs(%3 : tensor<16x16xi32>) -> tensor<16x16xi32>
  return %d : tensor<16x16xi32>
}
