// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-clusters{clusters=1} --outline-pe-functions{pes=4} --canonicalize --cse | FileCheck %s

// Each PE gets its number and the values that the body uses; a buffer that the body allocates is
// private. Seven iterations on four PEs are a loop, three are not.

// CHECK-LABEL: func.func private @k.pe0(
// CHECK-SAME: %[[PE:[a-z0-9]+]]: index
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<7x8xf32, 1> {llvm.noalias}
// CHECK-SAME: %[[T:[a-z0-9]+]]: memref<7xf32, 2> {llvm.noalias}
// CHECK-SAME: llvm.linkage = #llvm.linkage<internal>
// CHECK: scf.for %[[P:.*]] = %[[PE]] to %c7 step %c4 {
// CHECK: memref.alloc() : memref<8xf32, 2>
// CHECK: memref.subview %[[A]][%[[P]], 0]
// CHECK: memref.store %{{.*}}, %[[T]][%[[P]]]
// CHECK-LABEL: func.func private @k.pe1(
// CHECK-SAME: %[[PE:[a-z0-9]+]]: index
// CHECK-NOT: scf.for
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[PE]]]
// CHECK-LABEL: func.func @k(
// CHECK: %[[T:.*]] = memref.alloc() : memref<7xf32, 2>
// CHECK: call @k.pe0(%c0, %arg0, %[[T]]) {xtc.units = 4 : i64}
// CHECK: call @k.pe1(%c0, %{{.*}}) {xtc.units = 3 : i64}
func.func @k(%A: memref<7x8xf32, 1>, %B: memref<7xf32, 1>) {
  scf.forall (%i) in (1) {
    %t = memref.alloc() : memref<7xf32, 2>
    scf.forall (%p) in (7) {
      %own = memref.alloc() : memref<8xf32, 2>
      %row = memref.subview %A[%p, 0] [1, 8] [1, 1] : memref<7x8xf32, 1> to memref<8xf32, strided<[1], offset: ?>, 1>
      linalg.exp ins(%row : memref<8xf32, strided<[1], offset: ?>, 1>) outs(%own : memref<8xf32, 2>)
      %x = memref.load %own[%p] : memref<8xf32, 2>
      memref.store %x, %t[%p] : memref<7xf32, 2>
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.forall (%p) in (3) {
      %x = memref.load %t[%p] : memref<7xf32, 2>
      memref.store %x, %t[%p] : memref<7xf32, 2>
    } {mapping = [#gpu.thread<linear_dim_0>]}
    memref.copy %t, %B : memref<7xf32, 2> to memref<7xf32, 1>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
