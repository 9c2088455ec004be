// RUN: xtc-opt %s '--transpose-row-reductions{bits=128}' | FileCheck %s

// Four rows are read and transposed to four columns, which are added one after the other.

// CHECK-LABEL: func.func @rows
// CHECK: %[[FIRST:.*]] = vector.load %arg1[%{{.*}}] : memref<8xf32>, vector<4xf32>
// CHECK: scf.for %[[K:.*]] = %{{.*}} iter_args(%[[SUM:.*]] = %[[FIRST]]) -> (vector<4xf32>)
// CHECK-COUNT-4: vector.load %arg0[%{{.*}}, %[[K]]] : memref<8x16xf32>, vector<4xf32>
// CHECK-COUNT-8: vector.shuffle
// CHECK: arith.addf %[[SUM]], %{{.*}} : vector<4xf32>
// CHECK-COUNT-3: arith.addf
// CHECK: scf.yield
// CHECK: vector.store %{{.*}}, %arg1
// CHECK-NOT: linalg
func.func @rows(%a: memref<8x16xf32>, %s: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<8x16xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%x: f32, %t: f32):
    %0 = arith.addf %t, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// An element that all rows share is in every lane. Remaining rows and elements are unchanged.

// CHECK-LABEL: func.func @rests
// CHECK: %[[X:.*]] = memref.load %arg1[%{{.*}}] : memref<7xf32>
// CHECK: vector.broadcast %[[X]] : f32 to vector<4xf32>
// CHECK: memref.subview %arg0[0, 4] [4, 3] [1, 1]
// CHECK: linalg.generic
// CHECK: memref.subview %arg0[4, 0] [1, 7] [1, 1]
// CHECK: linalg.generic
func.func @rests(%a: memref<5x7xf32>, %x: memref<7xf32>, %y: memref<5xf32>) {
  linalg.matvec ins(%a, %x : memref<5x7xf32>, memref<7xf32>) outs(%y : memref<5xf32>)
  return
}

// A single row has no neighbors, and neighboring columns are vectors already.

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: vector
func.func @left_alone(%a: memref<1x16xf32>, %s: memref<1xf32>, %b: memref<16x8xf32>, %t: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<1x16xf32>) outs(%s : memref<1xf32>) {
  ^bb0(%x: f32, %u: f32):
    %0 = arith.addf %u, %x : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, k) -> (k, i)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%b : memref<16x8xf32>) outs(%t : memref<8xf32>) {
  ^bb0(%x: f32, %u: f32):
    %0 = arith.addf %u, %x : f32
    linalg.yield %0 : f32
  }
  return
}
