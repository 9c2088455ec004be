// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --separate-empties | FileCheck %s

// Two results have a tensor each to write to, and what is filled for a part of them another one,
// which eliminate-empty-tensors then puts where it is inserted.

// CHECK-LABEL: func.func @two
// CHECK-NOT:   tensor.extract_slice
// CHECK:       %[[A:.*]] = tensor.empty() : tensor<1xf32>
// CHECK:       %[[B:.*]] = tensor.empty() : tensor<1xf32>
// CHECK:       linalg.fill ins(%{{.*}}) outs(%[[FIRST:.*]] : tensor<1xf32>)
// CHECK:       tensor.insert_slice %{{.*}} into %[[X:.*]][0] [1] [1]
// CHECK:       linalg.fill ins(%{{.*}}) outs(%[[SECOND:.*]] : tensor<1xf32>)
// CHECK-NOT:   tensor.insert_slice %{{.*}} into %[[X]][0]
// CHECK:       tensor.insert_slice
func.func @two(%v: f32) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %s = tensor.extract_slice %e[0] [1] [1] : tensor<8xf32> to tensor<1xf32>
  %f = linalg.fill ins(%v : f32) outs(%s : tensor<1xf32>) -> tensor<1xf32>
  %p = tensor.insert_slice %f into %e[0] [1] [1] : tensor<1xf32> into tensor<8xf32>
  %g = linalg.fill ins(%v : f32) outs(%s : tensor<1xf32>) -> tensor<1xf32>
  %q = tensor.insert_slice %g into %e[0] [1] [1] : tensor<1xf32> into tensor<8xf32>
  return %p, %q : tensor<8xf32>, tensor<8xf32>
}

// A loop writes to slices of a tensor that is created outside of it: no iteration creates one.

// CHECK-LABEL: func.func @loop
// CHECK:       tensor.empty() : tensor<8xf32>
// CHECK:       scf.for
// CHECK-NOT:   tensor.empty
// CHECK:       return
func.func @loop(%v: f32) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = tensor.empty() : tensor<8xf32>
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%all = %e) -> tensor<8xf32> {
    %s = tensor.extract_slice %e[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>
    %f = linalg.fill ins(%v : f32) outs(%s : tensor<1xf32>) -> tensor<1xf32>
    %p = tensor.insert_slice %f into %all[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    scf.yield %p : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// Two results are computed in another shape of the same empty tensor.

// CHECK-LABEL: func.func @reshaped
// CHECK-NOT:   tensor.expand_shape
// CHECK:       %[[A:.*]] = tensor.empty() : tensor<2x4xf32>
// CHECK:       %[[B:.*]] = tensor.empty() : tensor<2x4xf32>
// CHECK:       linalg.fill ins(%{{.*}}) outs(%[[FIRST:.*]] : tensor<2x4xf32>)
// CHECK-NOT:   outs(%[[FIRST]]
// CHECK:       linalg.fill
func.func @reshaped(%v: f32, %w: f32) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %s = tensor.expand_shape %e [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %f = linalg.fill ins(%v : f32) outs(%s : tensor<2x4xf32>) -> tensor<2x4xf32>
  %g = linalg.fill ins(%w : f32) outs(%s : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %f, %g : tensor<2x4xf32>, tensor<2x4xf32>
}
