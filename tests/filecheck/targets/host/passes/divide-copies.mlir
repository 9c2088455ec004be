// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--divide-copies{shared=65536}' | FileCheck %s
// RUN: xtc-opt %s '--divide-copies{parallel=false}' | FileCheck %s --check-prefix=ALONE

// Each iteration copies the dense part of a head.

// CHECK-LABEL: func.func @cache
// CHECK: scf.forall (%[[I:.*]]) in (12) {
// CHECK:   %[[OLD:.*]] = memref.subview %{{.*}}[%[[I]], 0, 0] [1, 512, 64] [1, 1, 1]
// CHECK:   %[[NEW:.*]] = memref.subview %{{.*}}[%[[I]], 0, 0] [1, 512, 64] [1, 1, 1]
// CHECK:   memref.copy %[[OLD]], %[[NEW]]
// CHECK-NOT: memref.copy
// ALONE-LABEL: func.func @cache
// ALONE: scf.for %[[I:.*]] = %c0{{.*}} to %c12{{.*}} step %c1
// ALONE:   memref.subview %{{.*}}[%[[I]], 0, 0] [1, 512, 64] [1, 1, 1]
// ALONE:   memref.copy
func.func @cache(%old: memref<12x512x64xf32>, %all: memref<12x513x64xf32>) {
  %part = memref.subview %all[0, 0, 0] [12, 512, 64] [1, 1, 1] : memref<12x513x64xf32> to memref<12x512x64xf32, strided<[32832, 64, 1]>>
  memref.copy %old, %part : memref<12x512x64xf32> to memref<12x512x64xf32, strided<[32832, 64, 1]>>
  return
}

// A dense copy is one call for one thread, and sixteen parts for several.

// CHECK-LABEL: func.func @dense
// CHECK: scf.forall (%[[I:.*]]) in (16) {
// CHECK:   %[[START:.*]] = arith.muli %[[I]], %c4
// CHECK:   memref.subview %{{.*}}[%[[START]], 0] [4, 1024] [1, 1]
// CHECK:   memref.copy
// ALONE-LABEL: func.func @dense
// ALONE-NOT: scf.for
// ALONE: memref.copy %arg0, %arg1
func.func @dense(%a: memref<64x1024xf32>, %b: memref<64x1024xf32>) {
  memref.copy %a, %b : memref<64x1024xf32> to memref<64x1024xf32>
  return
}

// Copies with short dense parts become loops; a copy in a parallel loop belongs to one thread.

// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.for
// CHECK: memref.copy %arg0
// CHECK: scf.forall
// CHECK-NOT: scf.for
// CHECK: memref.copy %arg1
func.func @others(%short: memref<4096x8xf32>, %a: memref<64x1024xf32>, %b: memref<64x1024xf32>, %into: memref<4096x8xf32, strided<[10, 1]>>) {
  memref.copy %short, %into : memref<4096x8xf32> to memref<4096x8xf32, strided<[10, 1]>>
  scf.forall (%i) in (2) {
    memref.copy %a, %b : memref<64x1024xf32> to memref<64x1024xf32>
  }
  return
}
