// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-blocks | FileCheck %s
// RUN: xtc-opt %s --distribute-blocks{most-threads=32} | FileCheck %s --check-prefix=FEW
// RUN: xtc-opt %s --distribute-blocks --distribute-threads | FileCheck %s --check-prefix=BOTH

#block = #gpu.block<linear_dim_0>
#thread = #gpu.thread<linear_dim_0>

// All threads fill a tile, in several rounds if it is larger than the block; then each thread uses
// it.
// CHECK-LABEL: func.func @tile(
// CHECK-SAME:  nvgpu.block = array<i64: 64, 1, 1>, nvgpu.grid = array<i64: 3, 1, 1>
// CHECK:       %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK-NEXT:  %[[T:.*]] = arith.index_castui %[[THREAD]]
// CHECK:       %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK:       affine.delinearize_index %{{.*}} into (3)
// CHECK:       %[[TILE:.*]] = memref.alloc() : memref<4x32xf32, 3>
// CHECK-NEXT:  %[[PART:.*]] = memref.subview %[[TILE]]{{.*}} : memref<4x32xf32, 3> to memref<2x32xf32, {{.*}}, 3>
// The tile of the next iteration is written after all threads have read the last one.
// CHECK:       scf.for
// CHECK-NEXT:    nvvm.barrier
// CHECK:         scf.for %[[TURN:.*]] = %c0{{.*}} to %c128{{.*}} step %c64
// CHECK-NEXT:      %[[N:.*]] = arith.addi %[[TURN]], %[[T]]
// CHECK-NEXT:      %[[PLACE:.*]]:2 = affine.delinearize_index %[[N]] into (4, 32)
// CHECK:           memref.store %{{.*}}, %[[TILE]][%[[PLACE]]#0, %[[PLACE]]#1]
// CHECK:         nvvm.barrier
// CHECK-NOT:     scf.if
// CHECK:         affine.delinearize_index %[[T]] into (2, 32)
// CHECK:         memref.load %[[PART]]
// CHECK-NOT:     nvvm.barrier
// CHECK:       return

// FEW-LABEL: func.func @tile(
// FEW-SAME:  nvgpu.block = array<i64: 32, 1, 1>
// FEW:       scf.for
// FEW:         scf.for {{.*}} step %c32
// FEW:         nvvm.barrier
// FEW:         scf.for {{.*}} step %c32
func.func @tile(%a: memref<3x4x32xf32, 1>, %r: memref<3x2x32xf32, 1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  scf.parallel (%b) = (%c0) to (%c3) step (%c1) {
    %tile = memref.alloc() : memref<4x32xf32>
    %part = memref.subview %tile[0, 0] [2, 32] [1, 1]
        : memref<4x32xf32> to memref<2x32xf32, strided<[32, 1]>>
    scf.for %k = %c0 to %c4 step %c1 {
      scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c32) step (%c1, %c1) {
        %x = memref.load %a[%b, %i, %j] : memref<3x4x32xf32, 1>
        memref.store %x, %tile[%i, %j] : memref<4x32xf32>
      }
      scf.parallel (%i, %j) = (%c0, %c0) to (%c2, %c32) step (%c1, %c1) {
        %x = memref.load %part[%i, %j] : memref<2x32xf32, strided<[32, 1]>>
        memref.store %x, %r[%b, %i, %j] : memref<3x2x32xf32, 1>
      } {mapping = [#thread, #thread]}
    }
  } {mapping = [#block]}
  return
}

// One thread executes operations outside of loops; threads without an iteration are idle. Loops that
// access other buffers need no barrier.
// CHECK-LABEL: func.func @beside(
// CHECK-SAME:  nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 2, 1, 1>
// CHECK:       scf.if
// CHECK-NEXT:    memref.store %{{.*}}, %{{.*}}[] : memref<f32, 3>
// CHECK:       scf.if
// CHECK-NEXT:    affine.delinearize_index %{{.*}} into (20)
// CHECK:         memref.store %{{.*}} : memref<20xf32, 1>
// CHECK:       nvvm.barrier
// CHECK-NEXT:  memref.load %{{.*}}[] : memref<f32, 3>
// CHECK-NOT:   nvvm.barrier
// CHECK:       memref.store %{{.*}} : memref<20xf32, 1>
func.func @beside(%r: memref<20xf32, 1>) {
  %x = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c20 = arith.constant 20 : index
  scf.parallel (%b) = (%c0) to (%c2) step (%c1) {
    %one = memref.alloc() : memref<f32>
    memref.store %x, %one[] : memref<f32>
    scf.parallel (%i) = (%c0) to (%c20) step (%c1) {
      memref.store %x, %r[%i] : memref<20xf32, 1>
    } {mapping = [#thread]}
    %y = memref.load %one[] : memref<f32>
    scf.parallel (%i) = (%c0) to (%c20) step (%c1) {
      memref.store %y, %r[%i] : memref<20xf32, 1>
    } {mapping = [#thread]}
  } {mapping = [#block]}
  return
}

// A private buffer of a thread is unchanged, and so is a loop that is not mapped to blocks.
// CHECK-LABEL: func.func @own(
// CHECK:       scf.if
// CHECK:         memref.alloc() : memref<4xf32>
// CHECK:         scf.parallel
// CHECK-LABEL: func.func @plain(
// CHECK-NOT:   nvgpu.grid
// CHECK:       scf.parallel
// BOTH-LABEL:  func.func @own(
// BOTH-SAME:   nvgpu.grid = array<i64: 3, 1, 1>
// BOTH-LABEL:  func.func @plain(
// BOTH-SAME:   nvgpu.grid = array<i64: 1, 1, 1>
func.func @own(%r: memref<3x4xf32, 1>) {
  %x = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%b) = (%c0) to (%c3) step (%c1) {
    scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
      %mine = memref.alloc() : memref<4xf32>
      scf.parallel (%j) = (%c0) to (%c4) step (%c1) {
        memref.store %x, %mine[%j] : memref<4xf32>
      }
      %y = memref.load %mine[%i] : memref<4xf32>
      memref.store %y, %r[%b, %i] : memref<3x4xf32, 1>
    } {mapping = [#thread]}
  } {mapping = [#block]}
  return
}

func.func @plain(%r: memref<3xf32, 1>) {
  %x = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.parallel (%b) = (%c0) to (%c3) step (%c1) {
    memref.store %x, %r[%b] : memref<3xf32, 1>
  }
  return
}

// A loop is separated from the operations around it as a whole: its first reads may be hoisted.
// CHECK-LABEL: func.func @around(
// CHECK:       memref.store %{{.*}}, %[[SUMS:.*]][%{{.*}}] : memref<32xf32, 3>
// CHECK:       nvvm.barrier
// CHECK-NEXT:  scf.for
// CHECK-NEXT:    nvvm.barrier
// CHECK:         memref.store %{{.*}} : memref<4xf32, 3>
// CHECK:         nvvm.barrier
// CHECK:         memref.load %{{.*}} : memref<4xf32, 3>
// CHECK:         memref.store %{{.*}}, %[[SUMS]]
// CHECK:       nvvm.barrier
// CHECK:       memref.load %[[SUMS]]
func.func @around(%a: memref<4x4xf32, 1>, %r: memref<2x32xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  scf.parallel (%b) = (%c0) to (%c2) step (%c1) {
    %sums = memref.alloc() : memref<32xf32>
    %tile = memref.alloc() : memref<4xf32>
    scf.parallel (%i) = (%c0) to (%c32) step (%c1) {
      memref.store %zero, %sums[%i] : memref<32xf32>
    }
    scf.for %k = %c0 to %c4 step %c1 {
      scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
        %x = memref.load %a[%k, %i] : memref<4x4xf32, 1>
        memref.store %x, %tile[%i] : memref<4xf32>
      }
      scf.parallel (%i) = (%c0) to (%c32) step (%c1) {
        %x = memref.load %tile[%c0] : memref<4xf32>
        %s = memref.load %sums[%i] : memref<32xf32>
        %t = arith.addf %s, %x : f32
        memref.store %t, %sums[%i] : memref<32xf32>
      } {mapping = [#thread]}
    }
    scf.parallel (%i) = (%c0) to (%c32) step (%c1) {
      %x = memref.load %sums[%i] : memref<32xf32>
      memref.store %x, %r[%b, %i] : memref<2x32xf32, 1>
    }
  } {mapping = [#block]}
  return
}
