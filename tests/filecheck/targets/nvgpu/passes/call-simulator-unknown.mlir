// SPDX-License-Identifier: Apache-2.0
// RUN: not xtc-opt %s --call-simulator 2>&1 | FileCheck %s

// No kernel of this project accumulates in float16 by mma.sync.
// CHECK: error: {{.*}}the simulator has no {{.*}}nvvm.mma.sync
llvm.func @f.nvgpu0.0(%h: vector<2xf16>)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %d = nvvm.mma.sync A[%h, %h, %h, %h] B[%h, %h] C[%h, %h] {
    layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
    shape = #nvvm.shape<m = 16, n = 8, k = 16>}
    : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  llvm.return
}
