// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --join-fills | FileCheck %s

// CHECK-LABEL: func.func @alone
// CHECK:         %[[ZERO:.*]] = linalg.fill {xtc.kernel = 0 : i64}
// CHECK:         linalg.matmul {xtc.kernel = 0 : i64} {{.*}} outs(%[[ZERO]]
func.func @alone(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %c0 = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x2xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<4x2xf32>) -> tensor<4x2xf32>
  %c = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>)
                     outs(%zero : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %c : tensor<4x2xf32>
}

// A fill that initializes two operations.
// CHECK-LABEL: func.func @shared
// CHECK-NOT:     xtc.kernel
func.func @shared(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %c0 = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x2xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<4x2xf32>) -> tensor<4x2xf32>
  %c = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>)
                     outs(%zero : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %c, %zero : tensor<4x2xf32>, tensor<4x2xf32>
}
