// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --call-simulator | FileCheck %s

// CHECK:       llvm.func @cuda_launch(!llvm.ptr, !llvm.ptr, !llvm.ptr)

// Shared memory has an address that the simulator knows; its bytes are in the shape.
// CHECK-NOT:   llvm.mlir.global external @xtc_shared
// CHECK-LABEL: llvm.func internal @shares.nvgpu0.1(
// CHECK:       %[[BASE:.*]] = llvm.call @cuda_shared() : () -> !llvm.ptr
// CHECK-NEXT:  %[[SHARED:.*]] = llvm.addrspacecast %[[BASE]] : !llvm.ptr to !llvm.ptr<3>
// CHECK-NEXT:  llvm.getelementptr %[[SHARED]][512]
// CHECK-NEXT:  llvm.call @cuda_barrier() : () -> ()
llvm.mlir.global external @xtc_shared() {addr_space = 3 : i32} : !llvm.array<0 x i8>
llvm.func @shares.nvgpu0.1()
    attributes {nvgpu.block = array<i64: 96, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>,
                nvgpu.shared_bytes = 640 : i64} {
  %base = llvm.mlir.addressof @xtc_shared : !llvm.ptr<3>
  %part = llvm.getelementptr %base[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  nvvm.barrier
  llvm.return
}

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
// CHECK:       @shares.nvgpu0.1.shape(dense<[7, 1, 1, 96, 1, 1, 640]>
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
