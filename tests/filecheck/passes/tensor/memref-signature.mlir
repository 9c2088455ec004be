// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --memref-signature --split-input-file | FileCheck %s

// Buffers are read at the start, and those that are written hold the results at the end. A buffer
// in between becomes a tensor.

// CHECK-LABEL: func.func @buffers(
// CHECK-SAME: %[[A:.*]]: memref<4x4xf32> {llvm.noalias}, %[[C:.*]]: memref<4x4xf32> {llvm.noalias})
// CHECK-DAG: %[[READ:.*]] = bufferization.to_tensor %[[A]] restrict :
// CHECK-DAG: %[[SUM:.*]] = bufferization.to_tensor %[[C]] restrict writable :
// CHECK: %[[EMPTY:.*]] = bufferization.alloc_tensor() : tensor<4x4xf32>
// CHECK-NOT: memref.alloc
// CHECK: %[[T:.*]] = linalg.exp ins(%[[READ]] : {{.*}}) outs(%[[EMPTY]]
// CHECK: %[[P:.*]] = linalg.matmul {{.*}} ins(%[[T]], %[[READ]] : {{.*}}) outs(%[[SUM]]
// CHECK: bufferization.materialize_in_destination %[[P]] in restrict writable %[[C]]
// CHECK-NEXT: return
func.func @buffers(%a: memref<4x4xf32>, %c: memref<4x4xf32>) {
  %t = memref.alloc() : memref<4x4xf32>
  linalg.exp ins(%a : memref<4x4xf32>) outs(%t : memref<4x4xf32>)
  linalg.matmul {loop.dims = ["i", "j", "k"]}
    ins(%t, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  memref.dealloc %t : memref<4x4xf32>
  return
}

// -----

// Tensors become buffers, and a result one more of them.

// CHECK-LABEL: func.func @tensors(
// CHECK-SAME: %[[X:.*]]: memref<8xf32> {llvm.noalias}, %[[Y:.*]]: memref<8xf32> {llvm.noalias}, %[[OUT:.*]]: memref<8xf32> {llvm.noalias})
// CHECK-DAG: bufferization.to_tensor %[[X]] restrict :
// CHECK-DAG: bufferization.to_tensor %[[Y]] restrict :
// CHECK: %[[R:.*]] = linalg.exp
// CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[OUT]]
func.func @tensors(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A function that already has the form is unchanged.

// CHECK-LABEL: func.func @source(
// CHECK-NOT: llvm.noalias
// CHECK: bufferization.to_tensor
// CHECK-NOT: bufferization.to_tensor
func.func @source(%x: memref<8xf32>, %y: memref<8xf32>) {
  %0 = bufferization.to_tensor %x restrict : memref<8xf32> to tensor<8xf32>
  bufferization.materialize_in_destination %0 in restrict writable %y : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

// Tensors may be stored to buffers beside tensor arguments.

// CHECK-LABEL: func.func @stored(
// CHECK-SAME: %[[X:.*]]: memref<8xf32> {llvm.noalias}, %[[Y:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: bufferization.to_tensor %[[Y]] restrict writable
// CHECK: %[[R:.*]] = linalg.exp
// CHECK-NOT: materialize
// CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[Y]]
// CHECK-NEXT: return
func.func @stored(%x: tensor<8xf32>, %y: memref<8xf32>) {
  %0 = tensor.empty() : tensor<8xf32>
  %1 = linalg.exp ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
  bufferization.materialize_in_destination %1 in restrict writable %y : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}
