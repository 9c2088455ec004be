// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-threads | FileCheck %s
// RUN: xtc-opt %s --distribute-threads{block-threads=64} | FileCheck %s --check-prefix=SMALL

// CHECK:       #[[GRID:.*]] = affine_map<(d0, d1) -> ((d1 * 33) ceildiv 256, 1, 1)>
// CHECK-LABEL: func.func @two(
// CHECK-SAME:  nvgpu.block = array<i64: 256, 1, 1>, nvgpu.grid = array<i64: 10, 1, 1>
// CHECK:       %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK:       %[[B:.*]] = arith.index_castui %[[BLOCK]]
// CHECK:       %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK:       %[[T:.*]] = arith.index_castui %[[THREAD]]
// CHECK:       %[[FIRST:.*]] = arith.muli %[[B]], %{{.*}}
// CHECK:       %[[N:.*]] = arith.addi %[[FIRST]], %[[T]]
// CHECK:       %[[INSIDE:.*]] = arith.cmpi ult, %[[N]], %{{.*}}
// CHECK:       scf.if %[[INSIDE]] {
// CHECK-NEXT:    %[[PLACE:.*]]:2 = affine.delinearize_index %[[N]] into (70, 33)
// CHECK-NEXT:    memref.store %{{.*}}, %{{.*}}[%[[PLACE]]#0, %[[PLACE]]#1]
// CHECK-NEXT:  }
// SMALL-LABEL: func.func @two(
// SMALL-SAME:  nvgpu.block = array<i64: 64, 1, 1>, nvgpu.grid = array<i64: 37, 1, 1>
func.func @two(%a: memref<70x33xf32, 1>) {
  %x = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c33 = arith.constant 33 : index
  %c70 = arith.constant 70 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c70, %c33) step (%c1, %c1) {
    memref.store %x, %a[%i, %j] : memref<70x33xf32, 1>
  }
  return
}

// The number of threads divides the iterations: no branch. Indices begin and step like those of the
// loop.
// CHECK-LABEL: func.func @steps(
// CHECK-SAME:  nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>
// CHECK-NOT:   scf.if
// CHECK:       %[[PLACE:.*]] = affine.delinearize_index %{{.*}} into (32)
// CHECK:       %[[SCALED:.*]] = arith.muli %[[PLACE]], %c2
// CHECK:       %[[I:.*]] = arith.addi %[[SCALED]], %c1
// CHECK:       memref.store %{{.*}}, %{{.*}}[%[[I]]]
func.func @steps(%a: memref<65xf32, 1>) {
  %x = arith.constant 1.0 : f32
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c65 = arith.constant 65 : index
  scf.parallel (%i) = (%c1) to (%c65) step (%c2) {
    memref.store %x, %a[%i] : memref<65xf32, 1>
  }
  return
}

// Operations beside a loop would need a barrier: one thread executes everything.
// CHECK-LABEL: func.func @beside(
// CHECK-SAME:  nvgpu.block = array<i64: 1, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>
// CHECK:       memref.store
// CHECK:       scf.parallel
func.func @beside(%a: memref<64xf32, 1>) {
  %x = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  memref.store %x, %a[%c0] : memref<64xf32, 1>
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %y = memref.load %a[%c0] : memref<64xf32, 1>
    memref.store %y, %a[%i] : memref<64xf32, 1>
  }
  return
}

// The number of threads is unknown.
// CHECK-LABEL: func.func @unknown(
// CHECK-SAME:  nvgpu.block = array<i64: 1, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>
func.func @unknown(%a: memref<64xf32, 1>, %n: index) {
  %x = arith.constant 1.0 : f32
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i) = (%n) to (%c64) step (%c1) {
    memref.store %x, %a[%i] : memref<64xf32, 1>
  }
  return
}

// The first size is an argument: the host computes the grid from the integer arguments.
// CHECK-LABEL: func.func @symbolic(
// CHECK-SAME:  %{{.*}}: i32, %[[ROWS:.*]]: index
// CHECK-SAME:  nvgpu.block = array<i64: 256, 1, 1>, nvgpu.grid = array<i64: 0, 0, 0>, xtc.grid = #[[GRID]]}
// CHECK:       %[[ITERATIONS:.*]] = arith.muli %[[ROWS]], %{{.*}}
// CHECK:       arith.cmpi ult, %[[N:.*]], %[[ITERATIONS]]
// CHECK:       affine.delinearize_index %[[N]] into (33)
func.func @symbolic(%a: memref<70x33xf32, 1>, %m: i32, %n: index) {
  %x = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c33 = arith.constant 33 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c33) step (%c1, %c1) {
    memref.store %x, %a[%i, %j] : memref<70x33xf32, 1>
  }
  return
}

// Another pass has already written the code of one thread.
// CHECK-LABEL: func.func @done(
// CHECK-SAME:  nvgpu.block = array<i64: 128, 1, 1>, nvgpu.grid = array<i64: 5, 1, 1>
// CHECK-NEXT:  return
func.func @done(%a: memref<64xf32, 1>)
    attributes {nvgpu.block = array<i64: 128, 1, 1>, nvgpu.grid = array<i64: 5, 1, 1>} {
  return
}
