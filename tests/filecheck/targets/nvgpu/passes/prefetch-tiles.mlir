// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --prefetch-tiles | FileCheck %s

#next = affine_map<(d0) -> (d0 + 1)>

// The first tile is read before the loop, each later tile after the second barrier.
// CHECK-LABEL: func.func @tile(
// CHECK:       %[[FIRST:.*]] = memref.load %arg0[%{{.*}}]
// CHECK:       %[[LAST:.*]]:2 = scf.for %[[K:.*]] = %c0 to %c64 step %c16 iter_args(%[[SUM:.*]] = %{{.*}}, %[[NOW:.*]] = %[[FIRST]]) -> (f32, f32)
// CHECK:         nvvm.barrier
// CHECK-NOT:     memref.load
// CHECK:         memref.store %[[NOW]], %{{.*}} : memref<16xf32, 3>
// CHECK:         nvvm.barrier
// CHECK:         %[[K1:.*]] = arith.addi %[[K]], %c16
// CHECK:         %[[MORE:.*]] = arith.cmpi slt, %[[K1]], %c64
// CHECK:         %[[NEXT:.*]] = scf.if %[[MORE]] -> (f32) {
// CHECK:           %[[PLACE:.*]] = affine.apply #{{.*}}(%[[K1]])
// CHECK:           %[[READ:.*]] = memref.load %arg0[%[[PLACE]]]
// CHECK:           scf.yield %[[READ]]
// CHECK:         } else {
// CHECK:           scf.yield %[[NOW]]
// CHECK:         memref.load %{{.*}} : memref<16xf32, 3>
// CHECK:         %[[TOTAL:.*]] = arith.addf %[[SUM]]
// CHECK:         scf.yield %[[TOTAL]], %[[NEXT]]
// CHECK:       return %[[LAST]]#0
func.func @tile(%a: memref<128xf32, 1>, %zero: f32, %t: index) -> f32
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %tile = memref.alloc() : memref<16xf32, 3>
  %0 = scf.for %k = %c0 to %c64 step %c16 iter_args(%sum = %zero) -> f32 {
    %place = affine.apply #next(%k)
    nvvm.barrier
    %x = memref.load %a[%place] : memref<128xf32, 1>
    memref.store %x, %tile[%t] : memref<16xf32, 3>
    nvvm.barrier
    %y = memref.load %tile[%c0] : memref<16xf32, 3>
    %total = arith.addf %sum, %y : f32
    scf.yield %total : f32
  }
  return %0 : f32
}

// Unchanged: the loop writes the memory that it reads; it computes with the loaded values; the tile
// is in global memory; the loop runs once.
// CHECK-LABEL: func.func @left(
// CHECK-NOT:   iter_args
// CHECK-NOT:   scf.if
func.func @left(%a: memref<128xf32, 1>, %b: memref<128xf32, 1>, %t: index)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %tile = memref.alloc() : memref<16xf32, 3>
  scf.for %k = %c0 to %c64 step %c16 {
    nvvm.barrier
    %x = memref.load %a[%k] : memref<128xf32, 1>
    memref.store %x, %tile[%t] : memref<16xf32, 3>
    nvvm.barrier
    %y = memref.load %tile[%c0] : memref<16xf32, 3>
    memref.store %y, %a[%t] : memref<128xf32, 1>
  }
  scf.for %k = %c0 to %c64 step %c16 {
    nvvm.barrier
    %x = memref.load %b[%k] : memref<128xf32, 1>
    %y = arith.negf %x : f32
    memref.store %y, %tile[%t] : memref<16xf32, 3>
    nvvm.barrier
  }
  scf.for %k = %c0 to %c64 step %c16 {
    nvvm.barrier
    %x = memref.load %b[%k] : memref<128xf32, 1>
    memref.store %x, %a[%t] : memref<128xf32, 1>
    nvvm.barrier
  }
  scf.for %k = %c0 to %c16 step %c16 {
    nvvm.barrier
    %x = memref.load %b[%k] : memref<128xf32, 1>
    memref.store %x, %tile[%t] : memref<16xf32, 3>
    nvvm.barrier
  }
  return
}
