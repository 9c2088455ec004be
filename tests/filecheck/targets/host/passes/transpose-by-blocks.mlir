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

// Pairs are words. The remainder of a block that is too small is copied as before: two pairs of each
// row, then a row. Elements of a copy may be copied twice.

#jit = affine_map<(i, j, t) -> (j, i, t)>
#ijt = affine_map<(i, j, t) -> (i, j, t)>
// CHECK-LABEL: func.func @pairs
// CHECK: memref.subview %arg0[0, 2, 0] [5, 4, 2]
// CHECK: memref.subview %arg0[1, 0, 0] [4, 4, 2]
// CHECK: %[[PAIRS:.*]] = vector.load %arg0{{.*}}, vector<8xbf16>
// CHECK: vector.bitcast %[[PAIRS]] : vector<8xbf16> to vector<4xi32>
// CHECK: vector.store %{{.*}} : memref<6x5x2xbf16>, vector<8xbf16>
// CHECK-NOT: linalg
func.func @pairs(%a: memref<5x6x2xbf16>, %b: memref<6x5x2xbf16>) {
  linalg.generic {indexing_maps = [#jit, #ijt], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : memref<5x6x2xbf16>) outs(%b : memref<6x5x2xbf16>) {
  ^bb0(%x: bf16, %y: bf16):
    linalg.yield %x : bf16
  }
  return
}

// The body computes on rows of the result. A column has one operand, and reads operands in its order
// in place. Nothing is written twice, because the result may be in the same memory.

#ji = affine_map<(i, j) -> (j, i)>
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @body
// CHECK-SAME: (%[[A:.*]]: memref<8x6xf32>, %[[F:.*]]: memref<6xf32>, %[[R:.*]]: memref<6x8xf32>)
// CHECK: memref.subview %[[A]][0, 4] [8, 2]
// CHECK: linalg.generic
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c4
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %c8
// CHECK-COUNT-4: vector.load %[[A]]
// CHECK-COUNT-8: vector.shuffle
// CHECK: %[[ONE:.*]] = memref.load %[[F]][%{{.*}}] : memref<6xf32>
// CHECK: %[[FACTOR:.*]] = vector.broadcast %[[ONE]] : f32 to vector<4xf32>
// CHECK: %[[OLD:.*]] = vector.load %[[R]][%{{.*}}, %[[J]]] : memref<6x8xf32>, vector<4xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[FACTOR]] : vector<4xf32>
// CHECK: %[[NEW:.*]] = arith.addf %[[SCALED]], %[[OLD]] : vector<4xf32>
// CHECK: vector.store %[[NEW]], %[[R]][%{{.*}}, %[[J]]] : memref<6x8xf32>, vector<4xf32>
func.func @body(%a: memref<8x6xf32>, %f: memref<6xf32>, %r: memref<6x8xf32>) {
  linalg.generic {indexing_maps = [#ji, #i, #ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a, %f, %r : memref<8x6xf32>, memref<6xf32>, memref<6x8xf32>) outs(%r : memref<6x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %old: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %0, %z : f32
    linalg.yield %1 : f32
  }
  return
}

// Unchanged: copies that keep rows, words of another size, parts smaller than a block, and sums.

#one = affine_map<(i, j) -> ()>
// CHECK-LABEL: func.func @others
// CHECK-NOT: vector
// CHECK: return
func.func @others(%a: memref<8x4x8xf32>, %b: memref<4x8x8xf32>, %c: memref<8x8xf64>, %d: memref<8x8xf32>, %e: memref<3x8xf32>, %f: memref<8x3xf32>, %s: memref<f32>) {
  linalg.transpose ins(%a : memref<8x4x8xf32>) outs(%b : memref<4x8x8xf32>) permutation = [1, 0, 2]
  linalg.transpose ins(%c : memref<8x8xf64>) outs(%c : memref<8x8xf64>) permutation = [1, 0]
  linalg.transpose ins(%e : memref<3x8xf32>) outs(%f : memref<8x3xf32>) permutation = [1, 0]
  linalg.generic {indexing_maps = [#ji, #ij, #one], iterator_types = ["reduction", "reduction"]} ins(%d, %d : memref<8x8xf32>, memref<8x8xf32>) outs(%s : memref<f32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %0 = arith.addf %x, %old : f32
    linalg.yield %0 : f32
  }
  return
}
