// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --forward-stores | FileCheck %s
// RUN: xtc-opt %s '--forward-stores{only-masked=true}' | FileCheck %s --check-prefix=MASKED

// Chains of additions to two neighboring locations: one load and one store of each.
// MASKED-LABEL: func.func @sums(
// MASKED-COUNT-4: memref.load
// MASKED-LABEL: func.func @unknown(
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

// After a barrier, or a store that may alias, nothing is known; stores whose value may have been read
// stay.
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

// The second row overlaps the masked lanes of the first. A loop that only reads changes nothing.

// MASKED-LABEL: func.func @rows
// MASKED-NOT: vector.maskedload
// MASKED: return
// CHECK-LABEL: func.func @rows
// CHECK: vector.maskedstore %arg0[%c0, %c0], %[[M:.*]], %arg1
// CHECK: scf.for
// CHECK: %[[A:.*]] = arith.select %[[M]], %arg1, %[[Z:.*]] :
// CHECK: %[[B:.*]] = arith.select %[[M]], %arg2, %[[Z]] :
// CHECK-NOT: vector.maskedload
// CHECK: return %[[A]], %[[B]]
func.func @rows(%c: memref<2x12xf32> {llvm.noalias}, %v: vector<16xf32>, %w: vector<16xf32>)
    -> (vector<16xf32>, vector<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %z = arith.constant dense<0.0> : vector<16xf32>
  %m = vector.constant_mask [12] : vector<16xi1>
  vector.maskedstore %c[%c0, %c0], %m, %v : memref<2x12xf32>, vector<16xi1>, vector<16xf32>
  vector.maskedstore %c[%c1, %c0], %m, %w : memref<2x12xf32>, vector<16xi1>, vector<16xf32>
  scf.for %i = %c0 to %c12 step %c1 {
    %x = memref.load %c[%c0, %i] : memref<2x12xf32>
  }
  %a = vector.maskedload %c[%c0, %c0], %m, %z
      : memref<2x12xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  %b = vector.maskedload %c[%c1, %c0], %m, %z
      : memref<2x12xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  return %a, %b : vector<16xf32>, vector<16xf32>
}

// A store, of one element or in a loop, may change what was stored; another mask reads more.

// CHECK-LABEL: func.func @overwritten
// CHECK-COUNT-3: vector.maskedload
// CHECK-NOT: arith.select
func.func @overwritten(%c: memref<40xf32> {llvm.noalias}, %v: vector<16xf32>, %f: f32)
    -> (vector<16xf32>, vector<16xf32>, vector<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %z = arith.constant dense<0.0> : vector<16xf32>
  %m = vector.constant_mask [12] : vector<16xi1>
  %n = vector.constant_mask [13] : vector<16xi1>
  vector.maskedstore %c[%c0], %m, %v : memref<40xf32>, vector<16xi1>, vector<16xf32>
  %p = vector.maskedload %c[%c0], %n, %z
      : memref<40xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  memref.store %f, %c[%c1] : memref<40xf32>
  %q = vector.maskedload %c[%c0], %m, %z
      : memref<40xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  vector.maskedstore %c[%c0], %m, %v : memref<40xf32>, vector<16xi1>, vector<16xf32>
  scf.for %i = %c0 to %c12 step %c1 {
    memref.store %f, %c[%i] : memref<40xf32>
  }
  %r = vector.maskedload %c[%c0], %m, %z
      : memref<40xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  return %p, %q, %r : vector<16xf32>, vector<16xf32>, vector<16xf32>
}
