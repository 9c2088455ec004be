// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--fill-by-vectors{bits=512}' --canonicalize | FileCheck %s

// Columns of each row are a run of 24: one whole vector and a half.

// CHECK-LABEL: func.func @rows
// CHECK-DAG:   %[[WHOLE:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK-DAG:   %[[HALF:.*]] = arith.constant dense<0xFF800000> : vector<8xf32>
// CHECK:       scf.for %[[I:.*]] = %c0{{.*}} to %c4
// CHECK-DAG:     vector.store %[[HALF]], %arg0[%[[I]], %c16] : memref<4x24xf32, strided<[32, 1]>>, vector<8xf32>
// CHECK-DAG:     vector.store %[[WHOLE]], %arg0[%[[I]], %c0] : memref<4x24xf32, strided<[32, 1]>>, vector<16xf32>
func.func @rows(%a: memref<4x24xf32, strided<[32, 1]>>) {
  %v = arith.constant 0xFF800000 : f32
  linalg.fill ins(%v : f32) outs(%a : memref<4x24xf32, strided<[32, 1]>>)
  return
}

// A whole buffer is one run, as are rows of a part that have no gaps between them.

// CHECK-LABEL: func.func @runs
// CHECK:       %[[ALL:.*]] = memref.collapse_shape %arg0 {{\[\[}}0, 1, 2]] : memref<2x5x7xi8> into memref<70xi8>
// CHECK:       vector.store %{{.*}}, %[[ALL]][%c64] : memref<70xi8>, vector<6xi8>
// CHECK:       vector.store %{{.*}}, %[[ALL]][%c0] : memref<70xi8>, vector<64xi8>
// CHECK:       %[[PART:.*]] = memref.collapse_shape %arg1 {{\[\[}}0], [1, 2]] : memref<3x2x16xf32, strided<[64, 16, 1], offset: ?>> into memref<3x32xf32, strided<[64, 1], offset: ?>>
// CHECK:       scf.for
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c32{{.*}} step %c16
// CHECK:           vector.store %{{.*}}, %[[PART]]
func.func @runs(%a: memref<2x5x7xi8>, %b: memref<3x2x16xf32, strided<[64, 16, 1], offset: ?>>, %x: f32) {
  %v = arith.constant 7 : i8
  linalg.fill ins(%v : i8) outs(%a : memref<2x5x7xi8>)
  linalg.fill ins(%x : f32) outs(%b : memref<3x2x16xf32, strided<[64, 16, 1], offset: ?>>)
  return
}

// Zeros are left to memset, separate elements to loops; minus zero does not count as zero.

// CHECK-LABEL: func.func @left
// CHECK:       linalg.fill ins(%{{.*}} : f32) outs(%arg0
// CHECK:       linalg.fill ins(%{{.*}} : f32) outs(%arg1
// CHECK:       vector.store {{.*}} vector<8xf32>
// CHECK-NOT:   linalg.fill
func.func @left(%a: memref<8xf32>, %b: memref<8xf32, strided<[2]>>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %minus = arith.constant -0.0 : f32
  linalg.fill ins(%zero : f32) outs(%a : memref<8xf32>)
  linalg.fill ins(%one : f32) outs(%b : memref<8xf32, strided<[2]>>)
  linalg.fill ins(%minus : f32) outs(%a : memref<8xf32>)
  return
}
