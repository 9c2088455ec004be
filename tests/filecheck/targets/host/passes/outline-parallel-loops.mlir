// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --outline-parallel-loops --canonicalize --cse | FileCheck %s

// The body becomes a function of its buffers and a range. Buffers that do not alias keep this
// property, and views and constants are recreated inside. A buffer of the body stays in the body.

// CHECK-LABEL: func.func private @rows.parallel.0(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<8x16xf32> {llvm.noalias}
// CHECK-SAME: %[[B:[a-z0-9]+]]: memref<6x16xf32> {llvm.noalias}
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: index, %[[LAST:[a-z0-9]+]]: index)
// CHECK-SAME: llvm.linkage = #llvm.linkage<internal>
// CHECK: memref.subview %[[A]][2, 0] [6, 16] [1, 1]
// CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %[[LAST]] step
// CHECK: memref.alloc()
// CHECK: {"./i"}
// CHECK-LABEL: func.func @rows(
// CHECK-NOT: scf.forall
// CHECK: call @rows.parallel.0({{.*}}, %c0, %c6) {"./i", xtc.parallel}
func.func @rows(%a: memref<8x16xf32> {llvm.noalias}, %b: memref<6x16xf32> {llvm.noalias}) {
  %inner = memref.subview %a[2, 0] [6, 16] [1, 1]
    : memref<8x16xf32> to memref<6x16xf32, strided<[16, 1], offset: 32>>
  scf.forall (%i) in (6) {
    %tile = memref.alloc() : memref<16xf32>
    %from = memref.subview %inner[%i, 0] [1, 16] [1, 1]
      : memref<6x16xf32, strided<[16, 1], offset: 32>> to memref<16xf32, strided<[1], offset: ?>>
    %to = memref.subview %b[%i, 0] [1, 16] [1, 1]
      : memref<6x16xf32> to memref<16xf32, strided<[1], offset: ?>>
    linalg.exp ins(%from : memref<16xf32, strided<[1], offset: ?>>) outs(%tile : memref<16xf32>)
    memref.copy %tile, %to : memref<16xf32> to memref<16xf32, strided<[1], offset: ?>>
  } {"./i"}
  return
}

// Two loops share one range, the second index fastest; a loop inside is sequential.

// CHECK-LABEL: func.func private @two.parallel.0(
// CHECK: scf.for %[[N:.*]] =
// CHECK-DAG: %[[J:.*]] = arith.remui %[[N]], %c3
// CHECK-DAG: %[[I:.*]] = arith.divui %[[N]], %c3
// CHECK-DAG: %[[J2:.*]] = arith.muli %[[J]], %c2
// CHECK-DAG: %[[J3:.*]] = arith.addi %[[J2]], %c1
// CHECK: scf.forall (%[[K:.*]]) in (4)
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J3]], %[[K]]]
// CHECK: call @two.parallel.0(%arg1, %arg0, %c0, %c15) {xtc.parallel}
func.func @two(%a: memref<5x7x4xf32> {llvm.noalias}, %s: f32) {
  scf.forall (%i, %j) = (0, 1) to (5, 6) step (1, 2) {
    scf.forall (%k) in (4) {
      memref.store %s, %a[%i, %j, %k] : memref<5x7x4xf32>
    }
  }
  return
}

// Buffers that may alias get no noalias.

// CHECK-LABEL: func.func private @alike.parallel.0(
// CHECK-NOT: llvm.noalias
// CHECK-SAME: attributes
func.func @alike(%a: memref<5xf32> {llvm.noalias}, %b: memref<5xf32> {llvm.noalias}, %c: i1) {
  %either = arith.select %c, %a, %b : memref<5xf32>
  scf.forall (%i) in (5) {
    %value = memref.load %a[%i] : memref<5xf32>
    memref.store %value, %either[%i] : memref<5xf32>
  }
  return
}

// The known alignment of an allocation is kept.

// CHECK-LABEL: func.func private @aligned.parallel.0(
// CHECK-SAME: memref<5xf32> {llvm.align = 64 : i64, llvm.noalias}
// CHECK-LABEL: func.func private @aligned.parallel.1(
func.func @aligned(%s: f32) {
  %a = memref.alloc() {alignment = 64 : i64} : memref<5xf32>
  scf.forall (%i) in (5) {
    memref.store %s, %a[%i] : memref<5xf32>
  }
  scf.forall (%i) in (3) {
    memref.store %s, %a[%i] : memref<5xf32>
  }
  memref.dealloc %a : memref<5xf32>
  return
}

// A vector that was computed before passes through the stack: it may be wider than a register.

// CHECK-LABEL: func.func private @wide.parallel.0(
// CHECK-SAME: memref<24xf32> {llvm.noalias}
// CHECK: scf.for
// CHECK: %[[V:.*]] = vector.transfer_read %arg{{[0-9]}}[%c0
// CHECK: vector.transfer_write %[[V]]
// CHECK-LABEL: func.func @wide
// CHECK: %[[A:.*]] = memref.alloca() : memref<24xf32>
// CHECK: %[[V:.*]] = vector.broadcast
// CHECK: vector.transfer_write %[[V]], %[[A]]
// CHECK: call @wide.parallel.0({{.*}}%[[A]]
func.func @wide(%a: memref<5x24xf32> {llvm.noalias}, %s: f32) {
  %c0 = arith.constant 0 : index
  %v = vector.broadcast %s : f32 to vector<24xf32>
  scf.forall (%i) in (5) {
    vector.transfer_write %v, %a[%i, %c0] {in_bounds = [true]} : vector<24xf32>, memref<5x24xf32>
  }
  return
}
