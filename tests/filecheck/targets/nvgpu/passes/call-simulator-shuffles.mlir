// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --call-simulator | FileCheck %s

// Shuffles that differ only in their values become one call. The operation between them that needs a result
// moves behind the call. The third shuffle of this kind needs a result, and the fourth has another distance.
// CHECK-LABEL: llvm.func internal @rows.nvgpu0.0(
// CHECK-SAME:  %[[X:[^:]*]]: f32, %[[Y:[^:]*]]: f32)
// CHECK:       %[[WORDS:.*]] = llvm.alloca
// CHECK-NOT:   llvm.fadd
// CHECK:       %[[SECOND:.*]] = llvm.getelementptr %[[WORDS]][4]
// CHECK-NEXT:  llvm.store %[[X]], %[[WORDS]] : f32
// CHECK-NEXT:  llvm.store %[[Y]], %[[SECOND]] : f32
// CHECK-NEXT:  %[[COUNT:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:  %[[XOR:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:  llvm.call @cuda_shuffle_words(%{{.*}}, %[[XOR]], %[[WORDS]], %[[COUNT]], %{{.*}}, %{{.*}})
// CHECK-NEXT:  %[[A:.*]] = llvm.load %[[WORDS]] : !llvm.ptr -> f32
// CHECK-NEXT:  llvm.load %[[SECOND]] : !llvm.ptr -> f32
// CHECK-NEXT:  llvm.fadd %[[X]], %[[A]]
// CHECK:       llvm.call @cuda_shuffle(
// CHECK:       llvm.call @cuda_shuffle(
llvm.func @rows.nvgpu0.0(%x: f32, %y: f32)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %distance = llvm.mlir.constant(16 : i32) : i32
  %other = llvm.mlir.constant(8 : i32) : i32
  %last = llvm.mlir.constant(31 : i32) : i32
  %a = nvvm.shfl.sync bfly %all, %x, %distance, %last : f32 -> f32
  %s = llvm.fadd %x, %a : f32
  %b = nvvm.shfl.sync bfly %all, %y, %distance, %last : f32 -> f32
  %c = nvvm.shfl.sync bfly %all, %s, %distance, %last : f32 -> f32
  %d = nvvm.shfl.sync bfly %all, %y, %other, %last : f32 -> f32
  llvm.return
}
