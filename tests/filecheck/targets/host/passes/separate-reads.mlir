// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --separate-reads | FileCheck %s

// Two readers of a constant get separate tensors, also if one is in a loop.

// CHECK-LABEL: func.func @two
// CHECK:       %[[M:.*]] = memref.get_global @w
// CHECK-DAG:   %[[A:.*]] = bufferization.to_tensor %[[M]] restrict
// CHECK-DAG:   %[[B:.*]] = bufferization.to_tensor %[[M]] restrict
// CHECK-NOT:   bufferization.to_tensor
// CHECK:       tensor.extract %[[A]]
// CHECK:       scf.for
// CHECK:         tensor.extract %[[B]]
memref.global constant @w : memref<4xf32>
func.func @two(%x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %m = memref.get_global @w : memref<4xf32>
  %t = bufferization.to_tensor %m restrict : memref<4xf32> to tensor<4xf32>
  %a = tensor.extract %t[%c0] : tensor<4xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %a) -> f32 {
    %b = tensor.extract %t[%i] : tensor<4xf32>
    %n = arith.addf %sum, %b : f32
    scf.yield %n : f32
  }
  return %r : f32
}

// Tensors that may be written stay shared.

// CHECK-LABEL: func.func @written
// CHECK:       bufferization.to_tensor %{{.*}} restrict writable
// CHECK-NOT:   bufferization.to_tensor
func.func @written(%m: memref<4xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = bufferization.to_tensor %m restrict writable : memref<4xf32> to tensor<4xf32>
  %a = tensor.extract %t[%c0] : tensor<4xf32>
  %b = tensor.extract %t[%c1] : tensor<4xf32>
  return %a, %b : f32, f32
}
