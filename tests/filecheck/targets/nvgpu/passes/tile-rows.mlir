// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --tile-rows{sms=16} | FileCheck %s
// RUN: xtc-opt %s --tile-rows{sms=16} --infer-tile-layouts --place-tile-buffers --lower-tiles \
// RUN:   --canonicalize --cse | FileCheck %s --check-prefix=THREAD

#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// A block has 4 rows of 256 elements, one per warp. The sums and the zeros stay in registers. A
// thread has 8 elements of its row: two accesses of 16 bytes, and no barrier.
// CHECK-LABEL: func.func @divided(
// CHECK-SAME:  nvgpu.block = array<i64: 128, 1, 1>, nvgpu.grid = array<i64: 64, 1, 1>, xtc.warps = 4
// CHECK-NOT:   linalg
// CHECK-NOT:   memref.alloc
// CHECK:       %[[B:.*]] = "tile.block_id"() {dim = 0 : i64}
// CHECK:       %[[R:.*]] = arith.muli %[[B]], %c4
// CHECK:       %[[V:.*]] = memref.reinterpret_cast %arg0 {{.*}} sizes: [256, 256], strides: [256, 1]
// CHECK:       %[[X:.*]] = "tile.load_global"(%[[V]], %[[R]], %{{.*}}) {dims = array<i64: 0, 1>}
// CHECK-SAME:  -> tensor<4x256xf32, [[L:#tile.layout<"[^"]*">]]>
// CHECK:       %[[S:.*]] = "tile.reduce"(%[[X]]) {dim = 1 : i64, kind = "sum"}
// CHECK:       %[[Z:.*]] = tensor.splat %cst
// CHECK:       %[[T:.*]] = arith.addf %[[Z]], %[[S]] : tensor<4x1xf32
// CHECK:       "tile.load_global"{{.*}} -> tensor<1x256xf32
// CHECK:       %[[W:.*]] = "tile.broadcast"(%[[T]])
// CHECK:       %[[D:.*]] = arith.divf %[[X]], %[[W]] : tensor<4x256xf32, [[L]]>
// CHECK:       "tile.broadcast"
// CHECK:       arith.addf %[[D]]
// CHECK:       "tile.store_global"
// CHECK-SAME:  (tensor<4x256xf32, [[L]]>
// CHECK-NEXT:  return

// A thread has 8 of its row's elements: two accesses of 16 bytes, and no barrier.
// THREAD-LABEL: func.func @divided(
// THREAD-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// THREAD-COUNT-5: nvvm.shfl.sync
// THREAD-NOT:   nvvm.shfl.sync
// THREAD-NOT:   nvvm.barrier
// THREAD-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// THREAD-COUNT-2: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
func.func @divided(%x: memref<256x256xf32, 1>, %b: memref<256xf32, 1>, %y: memref<256x256xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<256xf32, 1>
  linalg.fill {xtc.kernel = 0} ins(%zero : f32) outs(%s : memref<256xf32, 1>)
  linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<256x256xf32, 1>) outs(%s : memref<256xf32, 1>)
      attrs = {nvgpu.rows = array<i64: 0, 1>, xtc.kernel = 0} {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %out, %in : f32
    linalg.yield %v : f32
  }
  linalg.generic {indexing_maps = [#whole, #row, #column, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s, %b : memref<256x256xf32, 1>, memref<256xf32, 1>, memref<256xf32, 1>)
      outs(%y : memref<256x256xf32, 1>)
      attrs = {nvgpu.rows = array<i64: 0, 1>, xtc.kernel = 0} {
  ^bb0(%in: f32, %sum: f32, %bias: f32, %out: f32):
    %v = arith.divf %in, %sum : f32
    %w = arith.addf %v, %bias : f32
    linalg.yield %w : f32
  }
  return
}

// The mask is the same for each i: i and j cannot be one dimension. The 3 rows of a block's tile
// belong to one i. The maximum is a second result.
// CHECK-LABEL: func.func @masked(
// CHECK-SAME:  nvgpu.block = array<i64: 64, 1, 1>, nvgpu.grid = array<i64: 20, 1, 1>, xtc.warps = 2
// CHECK:       %[[I:.*]] = "tile.block_id"
// CHECK:       sizes: [20, 3, 100], strides: [300, 100, 1]
// CHECK:       "tile.load_global"(%{{.*}}, %[[I]], %{{.*}}) {dims = array<i64: 1, 2>}
// CHECK:       sizes: [1, 3, 100], strides: [0, 100, 1]
// CHECK:       "tile.load_global"
// CHECK:       arith.addf
// CHECK:       "tile.reduce"{{.*}} {dim = 1 : i64, kind = "max"}
// CHECK:       arith.maximumf
// CHECK:       sizes: [20, 3, 1], strides: [3, 1, 0]
// CHECK:       "tile.store_global"
// CHECK:       arith.subf
// CHECK:       "tile.store_global"
func.func @masked(%x: memref<20x3x100xf32, 1>, %m: memref<3x100xf32, 1>, %s: memref<20x3xf32, 1>, %y: memref<20x3x100xf32, 1>) {
  %low = arith.constant 0xFF800000 : f32
  linalg.fill {xtc.kernel = 0} ins(%low : f32) outs(%s : memref<20x3xf32, 1>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %m : memref<20x3x100xf32, 1>, memref<3x100xf32, 1>) outs(%y : memref<20x3x100xf32, 1>)
      attrs = {nvgpu.rows = array<i64: 0, 1, 2>, xtc.kernel = 0} {
  ^bb0(%in: f32, %mask: f32, %out: f32):
    %v = arith.addf %in, %mask : f32
    linalg.yield %v : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y : memref<20x3x100xf32, 1>) outs(%s : memref<20x3xf32, 1>)
      attrs = {nvgpu.rows = array<i64: 0, 1, 2>, xtc.kernel = 0} {
  ^bb0(%in: f32, %out: f32):
    %v = arith.maximumf %out, %in : f32
    linalg.yield %v : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y, %s : memref<20x3x100xf32, 1>, memref<20x3xf32, 1>) outs(%y : memref<20x3x100xf32, 1>)
      attrs = {nvgpu.rows = array<i64: 0, 1, 2>, xtc.kernel = 0} {
  ^bb0(%in: f32, %most: f32, %out: f32):
    %v = arith.subf %in, %most : f32
    linalg.yield %v : f32
  }
  return
}
