// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --call-simulator | FileCheck %s

// CHECK:       llvm.func @cuda_launch(!llvm.ptr, !llvm.ptr, !llvm.ptr)

// A shuffle moves a word to another lane, a float32 as its bits.
// CHECK-LABEL: llvm.func internal @exchanges.nvgpu0.3(
// CHECK:       %[[BITS:.*]] = llvm.bitcast %{{.*}} : f32 to i32
// CHECK:       %[[XOR:.*]] = llvm.mlir.constant(2 : i32)
// CHECK:       %[[GOT:.*]] = llvm.call @cuda_shuffle(%{{.*}}, %[[XOR]], %[[BITS]], %{{.*}}) :
// CHECK-NEXT:  llvm.bitcast %[[GOT]] : i32 to f32
// CHECK:       llvm.call @cuda_shuffle(
// CHECK-NOT:   llvm.bitcast
// CHECK:       llvm.return
llvm.func @exchanges.nvgpu0.3(%x: f32, %y: i32)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %distance = llvm.mlir.constant(16 : i32) : i32
  %last = llvm.mlir.constant(31 : i32) : i32
  %a = nvvm.shfl.sync bfly %all, %x, %distance, %last : f32 -> f32
  %b = nvvm.shfl.sync bfly %all, %y, %last, %last : i32 -> i32
  llvm.return
}

// The simulator knows the address of shared memory; its bytes are in the shape.
// CHECK-NOT:   llvm.mlir.global external @xtc_shared
// CHECK-LABEL: llvm.func internal @shares.nvgpu0.1(
// CHECK:       %[[BASE:.*]] = llvm.call @cuda_shared() : () -> !llvm.ptr
// CHECK-NEXT:  %[[SHARED:.*]] = llvm.addrspacecast %[[BASE]] : !llvm.ptr to !llvm.ptr<3>
// CHECK-NEXT:  llvm.getelementptr %[[SHARED]][512]
// CHECK:       %[[SITE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT:  llvm.call @cuda_barrier_at(%[[SITE]]) : (i32) -> ()
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

// Copies and tensor cores. One call does a load and two multiply-adds: the second multiplies the loaded
// matrices and continues with the accumulators of the first. The table has one load, two fragments of A and
// of B, one of C, two steps, and the word with the load's address; the load is of 4 transposed matrices.
// Operations that extract the results follow the call.
// CHECK:       @g.nvgpu0.0.batch0(dense<[0, 1, 2, 2, 1, 2, 10, 4, 1, 0, -1, -1, -1, -1, 0, 1, 2, 3,
// CHECK-SAME:  -1, -1, 0, 1, 0, 0, 0, 1, 1, 0]>
// CHECK-LABEL: llvm.func internal @g.nvgpu0.0(
// CHECK-SAME:  %[[GLOBAL:[^:]*]]: !llvm.ptr<1>, %[[X:[^:]*]]: i32, %[[H:[^:]*]]: vector<2xf16>, %[[C:[^:]*]]: f32)
// CHECK-COUNT-2: llvm.alloca
// CHECK:       %[[SIXTEEN:.*]] = llvm.mlir.constant(16 : i32)
// CHECK-NEXT:  llvm.call @cuda_copy_async(%{{.*}}, %{{.*}}, %[[SIXTEEN]], %[[SIXTEEN]])
// CHECK:       llvm.call @cuda_copy_async(%{{.*}}, %{{.*}}, %{{.*}}, %[[X]])
// CHECK:       llvm.call @cuda_copy_async_commit()
// CHECK:       %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:  llvm.call @cuda_copy_async_wait(%[[TWO]])
// CHECK:       %[[ROW:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr<3> to !llvm.ptr
// CHECK-COUNT-4: llvm.store %[[C]]
// CHECK-COUNT-6: llvm.store %[[H]]
// CHECK:       llvm.store %[[ROW]]
// CHECK:       %[[TABLE:.*]] = llvm.mlir.addressof @g.nvgpu0.0.batch0
// CHECK-NEXT:  llvm.call @cuda_run_batch(%[[TABLE]], %[[WORDS:.*]]) :
// CHECK-NEXT:  %[[SUMS:.*]] = llvm.load %[[WORDS]] : !llvm.ptr -> !llvm.struct<(f32, f32, f32, f32)>
// CHECK-NEXT:  %[[SUM:.*]] = llvm.extractvalue %[[SUMS]][0]
// CHECK-NEXT:  llvm.call @cuda_to_tf32(%[[SUM]]) : (f32) -> i32
// CHECK-NOT:   nvvm
// CHECK:       llvm.return
llvm.func @g.nvgpu0.0(%a: !llvm.ptr<1>, %n: i32, %h: vector<2xf16>, %c: f32)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>,
                nvgpu.shared_bytes = 50000 : i64} {
  %s = llvm.mlir.addressof @xtc_shared : !llvm.ptr<3>
  nvvm.cp.async.shared.global %s, %a, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %s, %a, 8, cache = ca, %n : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 2
  %x = nvvm.ldmatrix %s {num = 4 : i32, layout = #nvvm.mma_layout<col>,
    shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}
    : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  %d = nvvm.mma.sync A[%h, %h, %h, %h] B[%h, %h] C[%c, %c, %c, %c] {
    layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
    shape = #nvvm.shape<m = 16, n = 8, k = 16>}
    : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %w0 = llvm.extractvalue %x[0] : !llvm.struct<(i32, i32, i32, i32)>
  %m0 = llvm.bitcast %w0 : i32 to vector<2xf16>
  %w1 = llvm.extractvalue %x[1] : !llvm.struct<(i32, i32, i32, i32)>
  %m1 = llvm.bitcast %w1 : i32 to vector<2xf16>
  %w2 = llvm.extractvalue %x[2] : !llvm.struct<(i32, i32, i32, i32)>
  %m2 = llvm.bitcast %w2 : i32 to vector<2xf16>
  %w3 = llvm.extractvalue %x[3] : !llvm.struct<(i32, i32, i32, i32)>
  %m3 = llvm.bitcast %w3 : i32 to vector<2xf16>
  %s0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  %s1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
  %s2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
  %s3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
  %e = nvvm.mma.sync A[%m0, %m1, %m2, %m3] B[%m0, %m1] C[%s0, %s1, %s2, %s3] {
    layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
    shape = #nvvm.shape<m = 16, n = 8, k = 16>}
    : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %first = llvm.extractvalue %e[0] : !llvm.struct<(f32, f32, f32, f32)>
  %t = nvvm.convert.float.to.tf32 %first {rnd = #nvvm.fp_rnd_mode<rna>}
  llvm.store %t, %a : i32, !llvm.ptr<1>
  llvm.return
}

// A barrier with a number, and one for some threads: 0 stands for all threads of the block. Each kind
// of shuffle has a mode, each axis an argument.
// CHECK-LABEL: llvm.func internal @operands.nvgpu0.0(
// CHECK-SAME:  %[[ID:[^:]*]]: i32, %[[THREADS:[^:]*]]: i32, %[[X:[^:]*]]: i32)
// CHECK:       llvm.call @cuda_barrier_sync(%[[ID]], %[[THREADS]])
// CHECK:       %[[ALL:.*]] = llvm.mlir.constant(0 : i32)
// CHECK:       llvm.call @cuda_barrier_sync(%[[ID]], %[[ALL]])
// CHECK:       %[[UP:.*]] = llvm.mlir.constant(0 : i32)
// CHECK:       llvm.call @cuda_shuffle(%{{.*}}, %[[UP]], %[[X]]
// CHECK:       %[[DOWN:.*]] = llvm.mlir.constant(1 : i32)
// CHECK:       llvm.call @cuda_shuffle(%{{.*}}, %[[DOWN]], %[[X]]
// CHECK:       %[[INDEX:.*]] = llvm.mlir.constant(3 : i32)
// CHECK:       llvm.call @cuda_shuffle(%{{.*}}, %[[INDEX]], %[[X]]
// CHECK:       llvm.call @cuda_warp_sync(%[[X]])
// CHECK:       %[[Y:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT:  llvm.call @cuda_thread_id(%[[Y]])
// CHECK:       %[[Z:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:  llvm.call @cuda_block_id(%[[Z]])
llvm.func @operands.nvgpu0.0(%id: i32, %threads: i32, %x: i32)
    attributes {nvgpu.block = array<i64: 96, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>} {
  nvvm.barrier id = %id number_of_threads = %threads
  nvvm.barrier id = %id
  %up = nvvm.shfl.sync up %x, %x, %id, %threads : i32 -> i32
  %down = nvvm.shfl.sync down %x, %x, %id, %threads : i32 -> i32
  %index = nvvm.shfl.sync idx %x, %x, %id, %threads : i32 -> i32
  nvvm.bar.warp.sync %x : i32
  %y = nvvm.read.ptx.sreg.tid.y : i32
  %z = nvvm.read.ptx.sreg.ctaid.z : i32
  llvm.return
}

// Without a grid: there is no function to launch.
// CHECK-LABEL: llvm.func @not_a_kernel()
llvm.func @not_a_kernel() {
  llvm.return
}

// Blocks, threads, bytes of shared memory, blocks of a cluster, and registers of a thread, if they are given.
// CHECK:       @shares.nvgpu0.1.shape(dense<[7, 1, 1, 96, 1, 1, 640, 1, 1, 1, 0, 0]>
// CHECK:       llvm.mlir.global internal constant @f.nvgpu0.0.shape(dense<[7, 1, 1, 96, 1, 1, 0, 1, 1, 1, 0, 0]>

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
// CHECK:       llvm.call @cuda_launch_independent(%[[THREAD]], %[[WORDS]], %[[SHAPE]])

// Blocks that wait, or have atomic accesses to global memory, run one at a time; atomic accesses to shared
// memory concern one block only.
// CHECK-LABEL: llvm.func @waits_nvgpu0_0(
// CHECK:       llvm.call @cuda_launch(
// CHECK-LABEL: llvm.func @adds_nvgpu0_0(
// CHECK:       llvm.call @cuda_launch(
// CHECK-LABEL: llvm.func @publishes_nvgpu0_0(
// CHECK:       llvm.call @cuda_launch(
// CHECK-LABEL: llvm.func @counts_nvgpu0_0(
// CHECK:       llvm.call @cuda_launch_independent(
llvm.func @waits.nvgpu0.0()
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>} {
  %time = llvm.mlir.constant(20 : i32) : i32
  "nvvm.nanosleep"(%time) : (i32) -> ()
  llvm.return
}
llvm.func @adds.nvgpu0.0(%a: !llvm.ptr<1>, %x: f32)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>} {
  %old = llvm.atomicrmw fadd %a, %x monotonic : !llvm.ptr<1>, f32
  llvm.return
}
llvm.func @publishes.nvgpu0.0(%a: !llvm.ptr<1>, %x: i32)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>} {
  llvm.store %x, %a atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @counts.nvgpu0.0(%a: !llvm.ptr<3>, %x: i32)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>} {
  %old = llvm.atomicrmw add %a, %x monotonic : !llvm.ptr<3>, i32
  llvm.return
}

// The tensor maps that a launch creates follow its arguments.
// CHECK:       llvm.mlir.global internal constant @maps.nvgpu0.0.maps(dense<[0, 6, 2, {{.*}}]> : tensor<20xi64>)
// CHECK-LABEL: llvm.func @maps_nvgpu0_0(
// CHECK-SAME:  %[[GIVEN:.*]]: !llvm.ptr)
// CHECK:       %[[COUNT:.*]] = llvm.mlir.constant(1 : i32)
// CHECK:       %[[MAPS:.*]] = llvm.mlir.constant(1 : i32)
// CHECK:       %[[SOURCES:.*]] = llvm.mlir.addressof @maps.nvgpu0.0.maps
// CHECK:       %[[ALL:.*]] = llvm.call @cuda_with_maps(%[[GIVEN]], %[[COUNT]], %[[SOURCES]], %[[MAPS]])
// CHECK:       llvm.call @cuda_launch_independent(%{{.*}}, %[[ALL]], %{{.*}})
llvm.func @maps.nvgpu0.0(%a: !llvm.ptr<1>, %map: !llvm.ptr)
    attributes {nvgpu.block = array<i64: 96, 1, 1>, nvgpu.grid = array<i64: 7, 1, 1>,
                nvgpu.maps = [array<i64: 0, 6, 2, 2, 128, 0, 256, 256, 0, 0, 0, 512, 0, 0, 0, 64, 64, 0, 0, 0>]} {
  llvm.return
}
