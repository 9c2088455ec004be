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

// The tensor maps that a launch creates are not parameters of the caller: the launch passes their
// bytes.
// CHECK:       @maps_launch(dense<[7, 1, 1, 96, 1, 1, 0, 1, 1]> : tensor<9xi32>)
// CHECK:       llvm.mlir.global external constant @maps_maps(
// CHECK-SAME:    dense<[0, 6, 2, 2, 128, 0, 256, 256, 0, 0, 0, 512, 0, 0, 0, 64, 64, 0, 0, 0]>
// CHECK-SAME:    {addr_space = 4 : i32} : !llvm.array<20 x i64>
// CHECK:       llvm.func @maps(%arg0: !llvm.ptr<1> {llvm.noalias},
// CHECK-SAME:    %arg1: !llvm.ptr {llvm.align = 128 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant})
llvm.func @maps(%a: !llvm.ptr<1> {llvm.noalias}, %map: !llvm.ptr)
    attributes {nvgpu.block = array<i64: 96, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>,
                nvgpu.maps = [array<i64: 0, 6, 2, 2, 128, 0, 256, 256, 0, 0, 0, 512, 0, 0, 0, 64, 64, 0, 0, 0>]} {
  llvm.return
}
