// RUN: xtc-opt %s '--block-reductions{block=64 relaxed=128}' | FileCheck %s
// RUN: xtc-opt %s '--block-reductions{block=64 relaxed=128 lanes=8}' | FileCheck %s --check-prefix=LANES

#row = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
#columns = affine_map<(i, j) -> (j)>

// Blocks, and the remainder.

// CHECK-LABEL: func.func @along
// CHECK: %[[PART:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %c192{{.*}} step %c64{{.*}} {
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[PART]]
// CHECK: %[[BLOCK:.*]] = memref.subview %arg0[0, %[[K]]] [2, 64] [1, 1]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[BLOCK]] {{.*}} outs(%[[PART]]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[PART]] {{.*}} outs(%arg1
// CHECK: memref.subview %arg0[0, 192] [2, 8] [1, 1]
// CHECK: linalg.generic {{.*}} outs(%[[PART]]
// CHECK: linalg.generic {{.*}} outs(%arg1
// CHECK: return

// Side by side: eight sums, then halves of them. The remainder is added to the result.

// LANES-LABEL: func.func @along
// LANES: memref.alloca() {alignment = 64 : i64} : memref<2x8xf32>
// LANES: scf.for
// LANES: scf.for
// LANES: iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : memref<2x8xf32, strided<[200, 1], offset: ?>>) outs(%{{.*}} : memref<2x8xf32>)
// LANES: memref.subview %{{.*}}[0, 4] [2, 4] [1, 1]
// LANES: memref.subview %{{.*}}[0, 2] [2, 2] [1, 1]
// LANES: memref.subview %{{.*}}[0, 1] [2, 1] [1, 1]
func.func @along(%a: memref<2x200xf32>, %s: memref<2xf32>) {
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<2x200xf32>) outs(%s : memref<2xf32>) {
  ^bb0(%x: f32, %t: f32):
    %0 = arith.addf %t, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// A result that is too large for the stack, and blocks of blocks.

// CHECK-LABEL: func.func @across
// CHECK: %[[PART:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2048xf32>
// CHECK: scf.for
// CHECK: memref.subview %arg0[%{{.*}}, 0] [65536, 2048] [1, 1]
// CHECK: scf.for
// CHECK: memref.subview %{{.*}}[%{{.*}}, 0] [64, 2048] [1, 1]
// CHECK: memref.dealloc %[[PART]]
func.func @across(%a: memref<524288x2048xf32>, %s: memref<2048xf32>) {
  linalg.generic {indexing_maps = [#row, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<524288x2048xf32>) outs(%s : memref<2048xf32>) {
  ^bb0(%x: f32, %t: f32):
    %0 = arith.addf %t, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// A second result is written in place; reassociation permits longer blocks.

// CHECK-LABEL: func.func @two_results
// CHECK: scf.for %[[K:.*]] = %{{.*}} step %c128
// CHECK: %[[TO:.*]] = memref.subview %arg1[%[[K]]] [128] [1]
// CHECK: linalg.generic {{.*}} outs(%[[TO]], %{{.*}} : memref<128xf32, strided<[1], offset: ?>>, memref<f32>)
func.func @two_results(%a: memref<256xf32>, %e: memref<256xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                  iterator_types = ["reduction"]}
      ins(%a : memref<256xf32>) outs(%e, %s : memref<256xf32>, memref<f32>) {
  ^bb0(%x: f32, %old: f32, %t: f32):
    %0 = math.exp %x : f32
    %1 = arith.addf %t, %0 fastmath<reassoc> : f32
    linalg.yield %0, %1 : f32, f32
  }
  return
}

// Integers, maxima and operations with a schedule keep their order.

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: scf.for
// CHECK: return
func.func @left_alone(%a: memref<200xi32>, %s: memref<i32>, %b: memref<200xf32>, %t: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a : memref<200xi32>) outs(%s : memref<i32>) {
  ^bb0(%x: i32, %t0: i32):
    %0 = arith.addi %t0, %x : i32
    linalg.yield %0 : i32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%b : memref<200xf32>) outs(%t : memref<f32>) {
  ^bb0(%x: f32, %t0: f32):
    %0 = arith.maximumf %t0, %x : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"],
                  loop.dims = ["i"], loop.schedule = ["i"]}
      ins(%b : memref<200xf32>) outs(%t : memref<f32>) {
  ^bb0(%x: f32, %t0: f32):
    %0 = arith.addf %t0, %x : f32
    linalg.yield %0 : f32
  }
  return
}
