// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --forward-masked-stores | FileCheck %s

// The second row overlaps the masked lanes of the first. A loop that only reads changes nothing.

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
