// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --reduce-in-blocks | FileCheck %s

#in = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>

// 256 threads for each row, which read four elements at once; then the sums of eight warps are added.
// CHECK-LABEL: func.func @rows(
// CHECK:       scf.parallel (%[[ROW:.*]]) = (%c0{{.*}}) to (%c8{{.*}}) step
// CHECK:         %[[PARTIAL:.*]] = memref.alloc() : memref<8xf32>
// CHECK:         scf.parallel (%[[T:.*]]) = (%c0{{.*}}) to (%c256{{.*}}) step
// CHECK:           affine.delinearize_index %[[T]] into (1024)
// CHECK-COUNT-4:   memref.load %arg0
// CHECK:           %[[LAST:.*]] = scf.for {{.*}} to %c1024{{.*}} step %c256{{.*}} iter_args
// CHECK-COUNT-4:     memref.load %arg0
// CHECK:             scf.yield
// CHECK-COUNT-5:   nvvm.shfl.sync {{.*}}bfly
// CHECK:           scf.if
// CHECK-NEXT:        memref.store %{{.*}}, %[[PARTIAL]]
// CHECK:         } {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK:         scf.parallel (%{{.*}}) = (%c0{{.*}}) to (%c32{{.*}}) step
// CHECK:           memref.load %[[PARTIAL]]
// CHECK-COUNT-3:   nvvm.shfl.sync {{.*}}bfly
// CHECK:           scf.if
// CHECK:             memref.load %arg1
// CHECK:             arith.addf
// CHECK:             memref.store %{{.*}}, %arg1
// CHECK:       } {mapping = [#gpu.block<linear_dim_0>]}
func.func @rows(%a: memref<8x4096xf32, 1>, %r: memref<8xf32, 1>) {
  linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<8x4096xf32, 1>) outs(%r : memref<8xf32, 1>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %s, %x : f32
    linalg.yield %t : f32
  }
  return
}

// A shuffle exchanges one word: 64 bits need two. One warp reduces a row of 40, element by element.
// CHECK-LABEL: func.func @wide(
// CHECK:         memref.alloc() : memref<1xi64>
// CHECK:         scf.parallel (%[[T:.*]]) = (%c0{{.*}}) to (%c32{{.*}}) step
// CHECK:           memref.load %arg0
// CHECK-COUNT-10:  nvvm.shfl.sync {{.*}}bfly
// CHECK-NOT:       nvvm.shfl.sync
// CHECK:           memref.store
func.func @wide(%a: memref<8x40xi64, 1>, %r: memref<8xi64, 1>) {
  linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<8x40xi64, 1>) outs(%r : memref<8xi64, 1>) {
  ^bb0(%x: i64, %s: i64):
    %t = arith.maxsi %s, %x : i64
    linalg.yield %t : i64
  }
  return
}

// Columns: the lanes of a warp read 32 adjacent ones, and the last column again beyond 70; 8 warps
// share them, and their results are combined in order.
// CHECK-LABEL: func.func @side_by_side(
// CHECK:       scf.parallel (%[[FIRST:.*]]) = (%c0{{.*}}) to (%c70{{.*}}) step (%c32
// CHECK:         %[[PARTIAL:.*]] = memref.alloc() : memref<8x32xf32>
// CHECK:         scf.parallel (%[[T:.*]]) = (%c0{{.*}}) to (%c256{{.*}}) step
// CHECK:           arith.minui
// CHECK:           memref.load %arg0
// CHECK:           %[[LAST:.*]] = scf.for {{.*}} to %c4096{{.*}} step %c8{{.*}} iter_args
// CHECK:             memref.load %arg0
// CHECK-NOT:       nvvm.shfl.sync
// CHECK:           memref.store %[[LAST]], %[[PARTIAL]]
// CHECK:         scf.parallel (%{{.*}}) = (%c0{{.*}}) to (%c32{{.*}}) step
// CHECK:           scf.if
// CHECK-COUNT-8:     memref.load %[[PARTIAL]]
// CHECK-COUNT-7:     arith.addf
// CHECK:             memref.load %arg1
// CHECK:             memref.store %{{.*}}, %arg1
// CHECK:       } {mapping = [#gpu.block<linear_dim_0>]}
func.func @side_by_side(%a: memref<4096x70xf32, 1>, %r: memref<70xf32, 1>) {
  linalg.generic {indexing_maps = [#in, #column], iterator_types = ["reduction", "parallel"]}
    ins(%a : memref<4096x70xf32, 1>) outs(%r : memref<70xf32, 1>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %s, %x : f32
    linalg.yield %t : f32
  }
  return
}

// Unchanged: short rows; many columns, which neighboring threads read side by side; reductions whose
// order matters; kernels that have a grid.
// CHECK-NOT: nvvm.shfl.sync
func.func @short(%a: memref<8x31xf32, 1>, %r: memref<8xf32, 1>) {
  linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<8x31xf32, 1>) outs(%r : memref<8xf32, 1>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %s, %x : f32
    linalg.yield %t : f32
  }
  return
}
func.func @columns(%a: memref<512x262144xf32, 1>, %r: memref<262144xf32, 1>) {
  linalg.generic {indexing_maps = [#in, #column], iterator_types = ["reduction", "parallel"]}
    ins(%a : memref<512x262144xf32, 1>) outs(%r : memref<262144xf32, 1>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %s, %x : f32
    linalg.yield %t : f32
  }
  return
}
func.func @ordered(%a: memref<8x4096xf32, 1>, %r: memref<8xf32, 1>) {
  linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<8x4096xf32, 1>) outs(%r : memref<8xf32, 1>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.subf %s, %x : f32
    linalg.yield %t : f32
  }
  return
}
func.func @twice(%a: memref<8x4096xf32, 1>, %r: memref<8xf32, 1>) {
  linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<8x4096xf32, 1>) outs(%r : memref<8xf32, 1>) {
  ^bb0(%x: f32, %s: f32):
    %p = arith.mulf %s, %x : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  return
}
func.func @placed(%a: memref<8x4096xf32, 1>, %r: memref<8xf32, 1>)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<8x4096xf32, 1>) outs(%r : memref<8xf32, 1>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %s, %x : f32
    linalg.yield %t : f32
  }
  return
}

// With the fill that begins it: the value is in a register, and the result is not read.
// CHECK-LABEL: func.func @filled(
// CHECK-NOT:   linalg.fill
// CHECK-NOT:   memref.load %arg1
// CHECK:       arith.addf %cst
// CHECK:       memref.store %{{.*}}, %arg1
func.func @filled(%a: memref<8x40xf32, 1>, %r: memref<8xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%r : memref<8xf32, 1>)
  linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<8x40xf32, 1>) outs(%r : memref<8xf32, 1>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %s, %x : f32
    linalg.yield %t : f32
  }
  return
}

// A short row has a thread.
// CHECK-LABEL: func.func @filled_and_short(
// CHECK-NOT:   linalg.fill
// CHECK:       scf.parallel (%[[ROW:.*]]) = (%c0{{.*}}) to (%c8{{.*}}) step
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %cst{{.*}})
// CHECK:         memref.store %[[SUM]], %arg1[%[[ROW]]]
func.func @filled_and_short(%a: memref<8x5xf32, 1>, %r: memref<8xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%r : memref<8xf32, 1>)
  linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<8x5xf32, 1>) outs(%r : memref<8xf32, 1>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %s, %x : f32
    linalg.yield %t : f32
  }
  return
}

// The epilogue that group-reductions marked is computed from the sum in a register.
// CHECK-LABEL: func.func @epilogue(
// CHECK-NOT:   memref.alloc
// CHECK:       scf.parallel (%[[I:.*]], %[[J:.*]]) = (%c0{{.*}}, %c0{{.*}}) to (%c8{{.*}}, %c4{{.*}}) step
// CHECK:         %[[SUM:.*]] = scf.for
// CHECK:         %[[BIAS:.*]] = memref.load %arg1[%[[I]]]
// CHECK:         %[[RESULT:.*]] = arith.addf %[[SUM]], %[[BIAS]]
// CHECK:         memref.store %[[RESULT]], %arg2[%[[J]], %[[I]]]
// CHECK-NOT:   linalg
func.func @epilogue(%a: memref<8x4x5xf32, 1>, %b: memref<8xf32, 1>, %r: memref<4x8xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<8x4xf32, 1>
  linalg.fill ins(%zero : f32) outs(%s : memref<8x4xf32, 1>)
  linalg.generic {nvgpu.reduction, indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a : memref<8x4x5xf32, 1>) outs(%s : memref<8x4xf32, 1>) {
  ^bb0(%x: f32, %y: f32):
    %t = arith.addf %y, %x : f32
    linalg.yield %t : f32
  }
  linalg.generic {nvgpu.reduction, indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (i)>, affine_map<(j, i) -> (j, i)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%s, %b : memref<8x4xf32, 1>, memref<8xf32, 1>) outs(%r : memref<4x8xf32, 1>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  }
  return
}

// Loop indices in the body are those of the thread.
// CHECK-LABEL: func.func @gathered(
// CHECK:       scf.parallel (%[[I:.*]], %[[J:.*]]) = (%c0{{.*}}, %c0{{.*}}) to (%c6{{.*}}, %c8{{.*}}) step
// CHECK:         scf.for %[[K:.*]] = {{.*}} iter_args
// CHECK:           %[[AT:.*]] = memref.load %arg1[%[[I]], %[[K]]]
// CHECK:           memref.load %arg0[%[[AT]], %[[J]]]
// CHECK-NOT:   linalg
func.func @gathered(%a: memref<9x8xf32, 1>, %at: memref<6x2xindex, 1>, %r: memref<6x8xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%r : memref<6x8xf32, 1>)
  linalg.generic {nvgpu.reduction, indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%at : memref<6x2xindex, 1>) outs(%r : memref<6x8xf32, 1>) {
  ^bb0(%x: index, %t: f32):
    %j = linalg.index 1 : index
    %v = memref.load %a[%x, %j] : memref<9x8xf32, 1>
    %u = arith.addf %t, %v : f32
    linalg.yield %u : f32
  }
  return
}
