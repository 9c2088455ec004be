// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --call-simulator | FileCheck %s

// A batch and the adjacent barriers become one call if only addresses and words of the thread are between
// them.
// CHECK-LABEL: llvm.func internal @joined.nvgpu0.0(
// CHECK-NOT:   @cuda_barrier_at
// CHECK:       llvm.getelementptr
// CHECK:       %[[BEFORE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT:  %[[AFTER:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:  llvm.call @cuda_run_batch_between(%{{.*}}, %{{.*}}, %[[BEFORE]], %[[AFTER]])
// CHECK-NEXT:  llvm.load
// CHECK-NOT:   @cuda_barrier_at
// CHECK:       llvm.return
llvm.mlir.global external @xtc_shared() {addr_space = 3 : i32} : !llvm.array<0 x i8>
llvm.func @joined.nvgpu0.0(%a: !llvm.ptr<1>)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>,
                nvgpu.shared_bytes = 256 : i64} {
  %s = llvm.mlir.addressof @xtc_shared : !llvm.ptr<3>
  nvvm.barrier
  %row = llvm.getelementptr %s[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %x = nvvm.ldmatrix %row {num = 1 : i32, layout = #nvvm.mma_layout<row>,
    shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}
    : (!llvm.ptr<3>) -> i32
  nvvm.barrier
  llvm.store %x, %a : i32, !llvm.ptr<1>
  llvm.return
}

// A store to shared memory is between the first barrier and the batch, and the second barrier is one of some
// threads: only the third barrier, after the second batch, joins.
// CHECK-LABEL: llvm.func internal @apart.nvgpu0.0(
// CHECK:       llvm.call @cuda_barrier_at(
// CHECK:       llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK:       llvm.call @cuda_run_batch(
// CHECK:       llvm.call @cuda_barrier_sync(
// CHECK:       %[[NONE:.*]] = llvm.mlir.constant(0 : i32)
// CHECK-NEXT:  %[[THIRD:.*]] = llvm.mlir.constant(3 : i32)
// CHECK-NEXT:  llvm.call @cuda_run_batch_between(%{{.*}}, %{{.*}}, %[[NONE]], %[[THIRD]])
llvm.func @apart.nvgpu0.0(%a: !llvm.ptr<1>, %threads: i32)
    attributes {nvgpu.block = array<i64: 64, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>,
                nvgpu.shared_bytes = 256 : i64} {
  %s = llvm.mlir.addressof @xtc_shared : !llvm.ptr<3>
  nvvm.barrier
  llvm.store %threads, %s : i32, !llvm.ptr<3>
  %x = nvvm.ldmatrix %s {num = 1 : i32, layout = #nvvm.mma_layout<row>,
    shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}
    : (!llvm.ptr<3>) -> i32
  nvvm.barrier id = %threads number_of_threads = %threads
  %y = nvvm.ldmatrix %s {num = 1 : i32, layout = #nvvm.mma_layout<row>,
    shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}
    : (!llvm.ptr<3>) -> i32
  nvvm.barrier
  %sum = llvm.add %x, %y : i32
  llvm.store %sum, %a : i32, !llvm.ptr<1>
  llvm.return
}
