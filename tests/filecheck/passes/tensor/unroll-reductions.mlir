// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --unroll-reductions{factor=4} | FileCheck %s

#x = affine_map<(k, j) -> (k, j)>
#y = affine_map<(k, j) -> (j)>
#window = affine_map<(w, s, c) -> (w + s, c)>
#filter = affine_map<(w, s, c) -> (s, c)>
#out = affine_map<(w, s, c) -> (w, c)>

// Every fourth row is a separate operand; y is loaded and stored once for four.

// CHECK-DAG: #[[WINDOW:.*]] = affine_map<(d0, d1, d2) -> (d0 + d1 * 4, d2)>
// CHECK-LABEL: func.func @sum
// CHECK: %[[X0:.*]] = memref.subview %arg0[0, 0] [2, 16] [4, 1]
// CHECK: %[[X3:.*]] = memref.subview %arg0[3, 0] [2, 16] [4, 1]
// CHECK: linalg.generic {{.*}} ins(%[[X0]], %{{.*}}, %{{.*}}, %[[X3]] :
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32, %[[D:.*]]: f32, %[[Y:.*]]: f32):
// CHECK:   %[[ONE:.*]] = arith.addf %[[Y]], %[[A]]
// CHECK:   %[[TWO:.*]] = arith.addf %[[ONE]], %[[B]]
// CHECK:   %[[THREE:.*]] = arith.addf %[[TWO]], %[[C]]
// CHECK:   %[[FOUR:.*]] = arith.addf %[[THREE]], %[[D]]
// CHECK:   linalg.yield %[[FOUR]]
func.func @sum(%x: memref<8x16xf32>, %y: memref<16xf32>) {
  linalg.generic {indexing_maps = [#x, #y], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%a: f32, %t: f32):
    %s = arith.addf %t, %a : f32
    linalg.yield %s : f32
  }
  return
}

// Five taps: four in one operation, the last one in another. A window moves by four taps at a time.

// CHECK-LABEL: func.func @taps
// CHECK: memref.subview %arg0[3, 0] [6, 8] [1, 1]
// CHECK: memref.subview %arg1[3, 0] [1, 8] [4, 1]
// CHECK: linalg.generic {indexing_maps = [#[[WINDOW]], #[[WINDOW]], #[[WINDOW]], #[[WINDOW]],
// CHECK: memref.subview %arg0[4, 0] [6, 8] [1, 1]
// CHECK: memref.subview %arg1[4, 0] [1, 8] [1, 1]
// CHECK: linalg.generic
func.func @taps(%x: memref<10x8xf32>, %f: memref<5x8xf32>, %y: memref<6x8xf32>) {
  linalg.generic {indexing_maps = [#window, #filter, #out], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x, %f : memref<10x8xf32>, memref<5x8xf32>) outs(%y : memref<6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %t: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %t, %p : f32
    linalg.yield %s : f32
  }
  return
}

// A sum along a row has no innermost loop of unit stride that is parallel.

// CHECK-LABEL: func.func @row
// CHECK-NOT: memref.subview
func.func @row(%x: memref<16x8xf32>, %y: memref<16xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<16x8xf32>) outs(%y : memref<16xf32>) dimensions = [1]
  return
}
