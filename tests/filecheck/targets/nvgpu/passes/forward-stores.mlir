// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --forward-stores | FileCheck %s

// Chains of additions to two neighbouring locations: one read and one write of each.
// CHECK-LABEL: func.func @sums(
// CHECK:       %[[A:.*]] = memref.load %arg0[%c0]
// CHECK-NEXT:  %[[B:.*]] = arith.addf %[[A]], %arg1
// CHECK-NEXT:  %[[C:.*]] = memref.load %arg0[%c1]
// CHECK-NEXT:  %[[D:.*]] = arith.addf %[[C]], %arg1
// CHECK-NEXT:  %[[E:.*]] = arith.addf %[[B]], %arg1
// CHECK-NEXT:  memref.store %[[E]], %arg0[%c0]
// CHECK-NEXT:  %[[F:.*]] = arith.addf %[[D]], %arg1
// CHECK-NEXT:  memref.store %[[F]], %arg0[%c1]
// CHECK-NEXT:  return
func.func @sums(%r: memref<8xf32, 1>, %x: f32)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.load %r[%c0] : memref<8xf32, 1>
  %b = arith.addf %a, %x : f32
  memref.store %b, %r[%c0] : memref<8xf32, 1>
  %c = memref.load %r[%c1] : memref<8xf32, 1>
  %d = arith.addf %c, %x : f32
  memref.store %d, %r[%c1] : memref<8xf32, 1>
  %e = memref.load %r[%c0] : memref<8xf32, 1>
  %f = arith.addf %e, %x : f32
  memref.store %f, %r[%c0] : memref<8xf32, 1>
  %g = memref.load %r[%c1] : memref<8xf32, 1>
  %h = arith.addf %g, %x : f32
  memref.store %h, %r[%c1] : memref<8xf32, 1>
  return
}

// Behind a barrier, or a write that may be to the same place, nothing is known; what may have been
// read was written for it.
// CHECK-LABEL: func.func @unknown(
// CHECK:       memref.store
// CHECK-NEXT:  nvvm.barrier
// CHECK-NEXT:  memref.load %arg0[%arg2]
// CHECK-NEXT:  memref.store %{{.*}}, %arg0[%arg3]
// CHECK-NEXT:  memref.load %arg0[%arg2]
// CHECK-NEXT:  memref.store %{{.*}}, %arg0[%arg2]
// CHECK-NEXT:  memref.load %arg0[%arg3]
// CHECK-NEXT:  memref.store %{{.*}}, %arg0[%arg2]
func.func @unknown(%r: memref<8xf32, 1>, %x: f32, %i: index, %j: index)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  memref.store %x, %r[%i] : memref<8xf32, 1>
  nvvm.barrier
  %a = memref.load %r[%i] : memref<8xf32, 1>
  memref.store %a, %r[%j] : memref<8xf32, 1>
  %b = memref.load %r[%i] : memref<8xf32, 1>
  memref.store %x, %r[%i] : memref<8xf32, 1>
  %c = memref.load %r[%j] : memref<8xf32, 1>
  memref.store %c, %r[%i] : memref<8xf32, 1>
  return
}
