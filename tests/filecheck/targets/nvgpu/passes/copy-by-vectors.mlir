// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --copy-by-vectors | FileCheck %s
// RUN: xtc-opt %s --copy-by-vectors{bytes=8} | FileCheck %s --check-prefix=SMALL

// CHECK-LABEL: func.func @tile(
// CHECK:       scf.parallel (%[[I:.*]], %[[J:.*]]) = (%c0{{.*}}, %c0{{.*}}) to (%c16{{.*}}, %c128{{.*}}) step (%c1{{.*}}, %c4{{.*}})
// CHECK-NEXT:    %[[V:.*]] = vector.load %arg0[%[[I]], %[[J]]] : {{.*}}, vector<4xf32>
// CHECK-NEXT:    vector.store %[[V]], %arg1[%[[I]], %[[J]]] : {{.*}}, vector<4xf32>
// SMALL-LABEL: func.func @tile(
// SMALL:         vector.load {{.*}} vector<2xf32>
func.func @tile(%a: memref<16x128xf32, strided<[256, 1], offset: ?>, 1>, %b: memref<16x128xf32>) {
  linalg.copy ins(%a : memref<16x128xf32, strided<[256, 1], offset: ?>, 1>)
              outs(%b : memref<16x128xf32>)
  return
}

// Rows of six elements are copied in pairs. Rows without alignment, of three elements, or of another
// type are not vectorized.
// CHECK-LABEL: func.func @others(
// CHECK:       vector.load {{.*}} vector<2xf32>
// CHECK-COUNT-3: linalg.copy
func.func @others(%a: memref<4x6xf32>, %b: memref<4x6xf32>,
                  %c: memref<4x8xf32, strided<[9, 1]>>, %d: memref<4x8xf32>,
                  %e: memref<4x3xf32>, %f: memref<4x3xf32>, %g: memref<8xf16>, %h: memref<8xf32>) {
  linalg.copy ins(%a : memref<4x6xf32>) outs(%b : memref<4x6xf32>)
  linalg.copy ins(%c : memref<4x8xf32, strided<[9, 1]>>) outs(%d : memref<4x8xf32>)
  linalg.copy ins(%e : memref<4x3xf32>) outs(%f : memref<4x3xf32>)
  linalg.copy ins(%g : memref<8xf16>) outs(%h : memref<8xf32>)
  return
}
