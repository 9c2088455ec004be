// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--transpose-by-blocks{bits=128}' | FileCheck %s

// Four rows are read, shuffled in two rounds, and written as four columns.

// CHECK-LABEL: func.func @whole
// CHECK-SAME: (%[[A:.*]]: memref<8x12xf32>, %[[B:.*]]: memref<12x8xf32>)
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %c12{{.*}} step %c4
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c8{{.*}} step %c4
// CHECK: %[[R0:.*]] = vector.load %[[A]][%[[I]], %[[J]]] : memref<8x12xf32>, vector<4xf32>
// CHECK: vector.load %[[A]]
// CHECK: %[[R2:.*]] = vector.load %[[A]]
// CHECK: vector.load %[[A]]
// CHECK: vector.shuffle %[[R0]], %[[R2]] [0, 4, 1, 5]
// CHECK: vector.shuffle %[[R0]], %[[R2]] [2, 6, 3, 7]
// CHECK-COUNT-4: vector.store %{{.*}}, %[[B]][%{{.*}}, %[[I]]] : memref<12x8xf32>, vector<4xf32>
// CHECK-NOT: linalg
func.func @whole(%a: memref<8x12xf32>, %b: memref<12x8xf32>) {
  linalg.transpose ins(%a : memref<8x12xf32>) outs(%b : memref<12x8xf32>) permutation = [1, 0]
  return
}

// Pairs are words. What is left of a block is copied as before: two pairs of each row, then a row.

#jit = affine_map<(i, j, t) -> (j, i, t)>
#ijt = affine_map<(i, j, t) -> (i, j, t)>
// CHECK-LABEL: func.func @pairs
// CHECK: memref.subview %arg0[0, 4, 0] [5, 2, 2]
// CHECK: linalg.generic
// CHECK: memref.subview %arg0[4, 0, 0] [1, 4, 2]
// CHECK: linalg.generic
// CHECK: %[[PAIRS:.*]] = vector.load %arg0{{.*}}, vector<8xbf16>
// CHECK: vector.bitcast %[[PAIRS]] : vector<8xbf16> to vector<4xi32>
// CHECK: vector.store %{{.*}} : memref<6x5x2xbf16>, vector<8xbf16>
func.func @pairs(%a: memref<5x6x2xbf16>, %b: memref<6x5x2xbf16>) {
  linalg.generic {indexing_maps = [#jit, #ijt], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : memref<5x6x2xbf16>) outs(%b : memref<6x5x2xbf16>) {
  ^bb0(%x: bf16, %y: bf16):
    linalg.yield %x : bf16
  }
  return
}

// Rows that stay rows, words of another size, arithmetic, and what is smaller than a block.

#ji = affine_map<(i, j) -> (j, i)>
#ij = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @others
// CHECK-NOT: vector
// CHECK: return
func.func @others(%a: memref<8x4x8xf32>, %b: memref<4x8x8xf32>, %c: memref<8x8xf64>, %d: memref<8x8xf32>, %e: memref<3x8xf32>, %f: memref<8x3xf32>) {
  linalg.transpose ins(%a : memref<8x4x8xf32>) outs(%b : memref<4x8x8xf32>) permutation = [1, 0, 2]
  linalg.transpose ins(%c : memref<8x8xf64>) outs(%c : memref<8x8xf64>) permutation = [1, 0]
  linalg.transpose ins(%e : memref<3x8xf32>) outs(%f : memref<8x3xf32>) permutation = [1, 0]
  linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%d : memref<8x8xf32>) outs(%d : memref<8x8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.negf %x : f32
    linalg.yield %0 : f32
  }
  return
}
