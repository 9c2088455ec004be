// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --call-simulator | FileCheck %s

// CHECK:       llvm.func @cuda_launch(!llvm.ptr, !llvm.ptr, !llvm.ptr)

// CHECK-LABEL: llvm.func internal @f.nvgpu0.0(
// CHECK:       %[[X:.*]] = llvm.mlir.constant(0 : i32)
// CHECK-NEXT:  llvm.call @cuda_block_id(%[[X]]) : (i32) -> i32
// CHECK:       llvm.call @cuda_thread_id(%{{.*}}) : (i32) -> i32
llvm.func @f.nvgpu0.0(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>)
    attributes {nvgpu.block = array<i64: 96, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>} {
  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  llvm.return
}

// Without a grid: no function to launch.
// CHECK-LABEL: llvm.func @not_a_kernel()
llvm.func @not_a_kernel() {
  llvm.return
}

// Blocks, threads, and bytes of shared memory.
// CHECK:       llvm.mlir.global internal constant @f.nvgpu0.0.shape(dense<[7, 1, 1, 96, 1, 1, 0]>

// CHECK-LABEL: llvm.func internal @f.nvgpu0.0.thread(
// CHECK-SAME:  %[[WORDS:.*]]: !llvm.ptr)
// CHECK:       %[[FIRST:.*]] = llvm.getelementptr %[[WORDS]][0]
// CHECK-NEXT:  %[[A:.*]] = llvm.load %[[FIRST]] : !llvm.ptr -> !llvm.ptr<1>
// CHECK:       %[[SECOND:.*]] = llvm.getelementptr %[[WORDS]][1]
// CHECK-NEXT:  %[[B:.*]] = llvm.load %[[SECOND]] : !llvm.ptr -> !llvm.ptr<1>
// CHECK-NEXT:  llvm.call @f.nvgpu0.0(%[[A]], %[[B]])

// CHECK-LABEL: llvm.func @f_nvgpu0_0(
// CHECK-SAME:  %[[WORDS:.*]]: !llvm.ptr)
// CHECK:       %[[THREAD:.*]] = llvm.mlir.addressof @f.nvgpu0.0.thread
// CHECK:       %[[SHAPE:.*]] = llvm.mlir.addressof @f.nvgpu0.0.shape
// CHECK:       llvm.call @cuda_launch(%[[THREAD]], %[[WORDS]], %[[SHAPE]])
