// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--prefetch-panels{bytes=4096}' | FileCheck %s

// A panel has 8 lines, which 16 iterations over rows prefetch: none in the loop over %k.

// CHECK-LABEL: func.func @rows
// CHECK: scf.for %[[J:.*]] =
// CHECK:   %[[NEXT:.*]] = arith.addi %[[J]],
// CHECK:   %[[LAST:.*]] = arith.minsi %[[NEXT]], %{{.*}}
// CHECK:   %[[BASE:.*]] = arith.muli %[[LAST]], %{{.*}}
// CHECK:   %[[LINES:.*]] = memref.collapse_shape %{{.*}} {{.*}} into memref<1024xf32>
// CHECK:   scf.for %[[I:.*]] =
// CHECK:     memref.prefetch %[[LINES]][%{{.*}}], read, locality<3>, data : memref<1024xf32>
// CHECK-NOT: memref.prefetch
// CHECK:     scf.for
// CHECK-NOT: memref.prefetch
func.func @rows(%w: memref<8x8x16xf32>, %out: memref<16x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.for %j = %c0 to %c8 step %c1 {
    %column = arith.muli %j, %c16 : index
    scf.for %i = %c0 to %c16 step %c1 {
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (vector<16xf32>) {
        %v = vector.load %w[%j, %k, %c0] : memref<8x8x16xf32>, vector<16xf32>
        %t = arith.addf %s, %v : vector<16xf32>
        scf.yield %t : vector<16xf32>
      }
      vector.store %sum, %out[%i, %column] : memref<16x128xf32>, vector<16xf32>
    }
  }
  return
}

// The loop over panels is in another function, such as a body that threads share. With few rows, each
// has many lines: they are prefetched along %k.

// CHECK-LABEL: func.func @body
// CHECK: scf.for %[[K:.*]] =
// CHECK-COUNT-2: memref.prefetch
// CHECK-NOT: memref.prefetch
func.func @body(%w: memref<8x64x32xf32>, %out: memref<1x256xf32>, %j: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (vector<16xf32>) {
    %v = vector.load %w[%j, %k, %c0] : memref<8x64x32xf32>, vector<16xf32>
    %u = vector.load %w[%j, %k, %c16] : memref<8x64x32xf32>, vector<16xf32>
    %r = arith.addf %s, %v : vector<16xf32>
    %t = arith.addf %r, %u : vector<16xf32>
    scf.yield %t : vector<16xf32>
  }
  vector.store %sum, %out[%c0, %c0] : memref<1x256xf32>, vector<16xf32>
  return
}

// Small arrays stay in a cache, and %k covers only half of a panel: neither is prefetched.

// CHECK-LABEL: func.func @others
// CHECK-NOT: memref.prefetch
func.func @others(%small: memref<2x8x16xf32>, %half: memref<8x64x32xf32>, %j: index) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (vector<16xf32>) {
    %v = vector.load %small[%j, %k, %c0] : memref<2x8x16xf32>, vector<16xf32>
    %u = vector.load %half[%j, %k, %c0] : memref<8x64x32xf32>, vector<16xf32>
    %r = arith.addf %s, %v : vector<16xf32>
    %t = arith.addf %r, %u : vector<16xf32>
    scf.yield %t : vector<16xf32>
  }
  return %sum : vector<16xf32>
}

// A panel has 64 lines, and 8 rows read it: four iterations of %k prefetch one line together.

// CHECK-LABEL: func.func @groups
// CHECK: scf.for %[[I:.*]] =
// CHECK:   scf.for %[[FIRST:.*]] = %{{.*}} to %c64{{.*}} step %c4
// CHECK:     memref.prefetch
// CHECK-NOT: memref.prefetch
// CHECK:     %[[END:.*]] = arith.addi %[[FIRST]], %c4
// CHECK:     scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c1
// CHECK-NOT: memref.prefetch
func.func @groups(%w: memref<8x64x16xf32>, %out: memref<8x128xf32>, %j: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (vector<16xf32>) {
      %v = vector.load %w[%j, %k, %c0] : memref<8x64x16xf32>, vector<16xf32>
      %t = arith.addf %s, %v : vector<16xf32>
      scf.yield %t : vector<16xf32>
    }
    vector.store %sum, %out[%i, %c0] : memref<8x128xf32>, vector<16xf32>
  }
  return
}

// A blocked reduction has a panel for each block of K in each %j, stored one after the other.

// CHECK-LABEL: func.func @blocks
// CHECK: scf.for %[[J:.*]] =
// CHECK:   scf.for %[[K:.*]] =
// CHECK:     %[[B:.*]] = arith.divui %[[K]], %c8
// CHECK:     %[[FIRST:.*]] = arith.muli %[[J]], %c4
// CHECK:     %[[NUMBER:.*]] = arith.addi %[[FIRST]], %[[B]]
// CHECK:     %[[NEXT:.*]] = arith.addi %[[NUMBER]], %c1
// CHECK:     arith.minsi %[[NEXT]], %c31
// CHECK:     scf.for %[[I:.*]] =
// CHECK:       memref.prefetch
// CHECK-NOT: memref.prefetch
func.func @blocks(%w: memref<8x4x8x16xf32>, %out: memref<16x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %j = %c0 to %c8 step %c1 {
    %column = arith.muli %j, %c16 : index
    scf.for %k = %c0 to %c32 step %c8 {
      %b = arith.divui %k, %c8 : index
      scf.for %i = %c0 to %c16 step %c1 {
        %old = vector.load %out[%i, %column] : memref<16x128xf32>, vector<16xf32>
        %sum = scf.for %n = %c0 to %c8 step %c1 iter_args(%s = %old) -> (vector<16xf32>) {
          %v = vector.load %w[%j, %b, %n, %c0] : memref<8x4x8x16xf32>, vector<16xf32>
          %t = arith.addf %s, %v : vector<16xf32>
          scf.yield %t : vector<16xf32>
        }
        vector.store %sum, %out[%i, %column] : memref<16x128xf32>, vector<16xf32>
      }
    }
  }
  return
}
