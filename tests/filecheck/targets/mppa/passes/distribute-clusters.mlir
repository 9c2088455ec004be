// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-clusters{clusters=4} --canonicalize | FileCheck %s

// More iterations than clusters: each cluster takes every fourth.

// CHECK-LABEL: func.func @many(%arg0: memref<11xf32, 1> {llvm.noalias}) attributes {mppa.kernel}
// CHECK: %[[ID:.*]] = call @dev_cluster_id() : () -> i32
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[ID]]
// CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %c11 step %c4 {
// CHECK-NEXT: memref.store %{{.*}}, %arg0[%[[I]]]
func.func @many(%a: memref<11xf32, 1>) {
  %x = arith.constant 1.0 : f32
  scf.forall (%i) in (11) {
    memref.store %x, %a[%i] : memref<11xf32, 1>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}

// As many as clusters, or fewer. The last index is fastest.

// CHECK-LABEL: func.func @few
// CHECK: %[[ID:.*]] = arith.index_cast
// CHECK-NOT: scf.for
// CHECK: %[[HAS_ONE:.*]] = arith.cmpi slt, %[[ID]], %c2
// CHECK: scf.if %[[HAS_ONE]] {
// CHECK: %[[J:.*]] = arith.remsi %[[ID]], %c2
// CHECK: %[[J3:.*]] = arith.muli %[[J]], %c3
// CHECK: memref.store %{{.*}}, %arg0[%{{.*}}, %[[J3]]]
func.func @few(%a: memref<1x6xf32, 1>) {
  %x = arith.constant 1.0 : f32
  scf.forall (%i, %j) = (0, 0) to (1, 6) step (1, 3) {
    memref.store %x, %a[%i, %j] : memref<1x6xf32, 1>
  } {mapping = [#gpu.block<linear_dim_0>, #gpu.block<linear_dim_1>]}
  return
}

// CHECK-LABEL: func.func @exact
// CHECK-NOT: scf.
// CHECK: memref.store
func.func @exact(%a: memref<4xf32, 1>) {
  %x = arith.constant 1.0 : f32
  scf.forall (%i) in (4) {
    memref.store %x, %a[%i] : memref<4xf32, 1>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}

// A kernel without a loop over clusters runs on one cluster.

// CHECK-LABEL: func.func @one
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: linalg.fill
func.func @one(%a: memref<4xf32, 1>) {
  %x = arith.constant 1.0 : f32
  linalg.fill ins(%x : f32) outs(%a : memref<4xf32, 1>)
  return
}
