// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --serialize-parallel-loops | FileCheck %s

// A loop keeps its name, and so does the inner one; a loop with two dimensions is unchanged.

// CHECK-LABEL: func.func @rows(
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[LAST:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[STEP:.*]] = arith.constant 2 : index
// CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %[[LAST]] step %[[STEP]]
// CHECK:   scf.for %[[J:.*]] = {{.*}} to {{.*}} step
// CHECK:     memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
// CHECK:   } {"./j#4"}
// CHECK: } {"./i"}
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (2, 3)
func.func @rows(%a: memref<8x16xf32>, %x: f32) {
  scf.forall (%i) = (1) to (8) step (2) {
    scf.forall (%j) in (4) {
      memref.store %x, %a[%i, %j] : memref<8x16xf32>
    } {"./j#4"}
  } {"./i"}
  scf.forall (%i, %j) in (2, 3) {
    memref.store %x, %a[%i, %j] : memref<8x16xf32>
  }
  return
}
