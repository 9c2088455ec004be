// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --export-entries --split-input-file 2>&1 | FileCheck %s

// Blocks, threads, bytes of shared memory, parameters.
// CHECK:       llvm.mlir.global external constant @f_nvgpu0_0_launch(dense<[7, 1, 1, 96, 1, 1, 0, 2]>
// CHECK-SAME:    {addr_space = 4 : i32} : !llvm.array<8 x i32>
// CHECK:       llvm.func @f_nvgpu0_0(%arg0: !llvm.ptr<1>, %arg1: i64)
// CHECK-SAME:    nvvm.kernel, nvvm.reqntid = array<i32: 96, 1, 1>
llvm.func @f.nvgpu0.0(%a: !llvm.ptr<1>, %b: i64)
    attributes {nvgpu.block = array<i64: 96, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>} {
  llvm.return
}

// CHECK:     llvm.func @not_a_kernel()
// CHECK-NOT: nvvm.kernel
llvm.func @not_a_kernel() {
  llvm.return
}

// CHECK:       @shares_launch(dense<[7, 1, 1, 96, 1, 1, 640, 0]>
llvm.func @shares()
    attributes {nvgpu.block = array<i64: 96, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>,
                nvgpu.shared_bytes = 640 : i64} {
  llvm.return
}
