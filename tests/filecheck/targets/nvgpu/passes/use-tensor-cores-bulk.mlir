// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s "--use-tensor-cores{sms=4 warpgroups=true bulk-copies=true}" | FileCheck %s

#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// 8 tiles of 128 x 256, multiplied by two warpgroups, with one copying warp. The two blocks of a
// cluster share the columns of B, of which each loads a half for both.
// CHECK-LABEL: func.func @half(
// CHECK-SAME:  nvgpu.block = array<i64: 384, 1, 1>, nvgpu.grid = array<i64: 4, 1, 1>
// CHECK-SAME:  nvvm.maxnreg = 168 : i32, xtc.cluster = array<i64: 2, 1, 1>, xtc.warps = 12 : i64
// CHECK-NOT:   linalg
// CHECK-NOT:   "tile.copy_async"
// CHECK:       memref.alloc() : memref<3x128x64xf16, 2>
// CHECK:       memref.alloc() : memref<3x64x256xf16, 2>
// CHECK:       "tile.mbarrier_alloc"() {counts = array<i64: 1, 1, 1>}
// CHECK:       "tile.mbarrier_alloc"() {counts = array<i64: 16, 16, 16>}
// CHECK:       "tile.cluster_sync"
// The copying warp, for all tiles of the block and of K.
// CHECK:       "tile.in_group"() {begin = 256 : i64, size = 128 : i64}
// CHECK:       "tile.set_registers"() {count = 40 : i64, increase = false}
// CHECK:       "tile.in_group"() {begin = 256 : i64, size = 32 : i64}
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             "tile.mbarrier_wait"
// CHECK:             "tile.mbarrier_expect"
// CHECK:             "tile.tma_load"
// CHECK:             "tile.tma_multicast"{{.*}} memref<32x256xf16
// The bias is loaded while tiles are multiplied.
// CHECK:       "tile.in_group"() {begin = 0 : i64, size = 256 : i64}
// CHECK:         "tile.set_registers"() {count = 232 : i64, increase = true}
// CHECK:         scf.for
// CHECK:           "tile.load_global"{{.*}} -> tensor<1x256xf16>
// CHECK:           "tile.store_shared"
// CHECK:           scf.for
// CHECK:             "tile.mbarrier_wait"
// CHECK:             "tile.wgmma"{{.*}} -> tensor<128x256xf32>
// CHECK:             "tile.wgmma_wait"() {n = 1 : i64}
// CHECK:             "tile.cluster_arrive"{{.*}} {by_warps, no_writes}
// CHECK:           "tile.wgmma_wait"() {n = 0 : i64}
// The epilogue is computed in the accumulators, and results are stored in bulk.
// CHECK:           "tile.sync"
// CHECK:           "tile.load_shared"
// CHECK:           arith.truncf {{.*}} tensor<128x256xf16>
// CHECK:           arith.addf
// CHECK:           "tile.store_shared"{{.*}} memref<128x256xf16, 2>
// CHECK:           "tile.tma_store"
// CHECK:       "tile.cluster_sync"
func.func @half(%a: memref<512x512xf16, 1>, %b: memref<512x512xf16, 1>, %x: memref<512xf16, 1>, %c: memref<512x512xf16, 1>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<512x512xf32, 1>
  linalg.fill {xtc.kernel = 0 : i64} ins(%zero : f32) outs(%s : memref<512x512xf32, 1>)
  linalg.matmul {xtc.kernel = 0 : i64}
    ins(%a, %b : memref<512x512xf16, 1>, memref<512x512xf16, 1>) outs(%s : memref<512x512xf32, 1>)
  linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}
    ins(%s, %x : memref<512x512xf32, 1>, memref<512xf16, 1>) outs(%c : memref<512x512xf16, 1>)
    attrs = {xtc.kernel = 0 : i64} {
  ^bb0(%in: f32, %bias: f16, %out: f16):
    %n = arith.truncf %in : f32 to f16
    %v = arith.addf %n, %bias : f16
    linalg.yield %v : f16
  }
  return
}

// Operands with an element for each element of the result are read in rows, by 16 bytes: the sums
// pass through shared memory in float32.
// CHECK-LABEL: func.func @residual(
// CHECK-SAME:  nvgpu.block = array<i64: 384, 1, 1>
// CHECK:       "tile.tma_load"
// CHECK:       "tile.wgmma"{{.*}} -> tensor<128x128xf32>
// CHECK:       "tile.store_shared"{{.*}} memref<128x128xf32, strided<[136, 1]>, 2>
// CHECK:       "tile.inside"
// CHECK:       "tile.load_global"{{.*}} -> tensor<16x128xf16, #tile.layout<
// CHECK-NOT:   "tile.tma_store"
func.func @residual(%a: memref<512x512xf16, 1>, %b: memref<512x512xf16, 1>, %x: memref<512x512xf16, 1>, %c: memref<512x512xf16, 1>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<512x512xf32, 1>
  linalg.fill {xtc.kernel = 0 : i64} ins(%zero : f32) outs(%s : memref<512x512xf32, 1>)
  linalg.matmul {xtc.kernel = 0 : i64}
    ins(%a, %b : memref<512x512xf16, 1>, memref<512x512xf16, 1>) outs(%s : memref<512x512xf32, 1>)
  linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
    ins(%s, %x : memref<512x512xf32, 1>, memref<512x512xf16, 1>) outs(%c : memref<512x512xf16, 1>)
    attrs = {xtc.kernel = 0 : i64} {
  ^bb0(%in: f32, %bias: f16, %out: f16):
    %n = arith.truncf %in : f32 to f16
    %v = arith.addf %n, %bias : f16
    linalg.yield %v : f16
  }
  return
}

// Rows of 516 bytes cannot have a tensor map.
// CHECK-LABEL: func.func @declined(
// CHECK-SAME:  nvgpu.block = array<i64: 128, 1, 1>
// CHECK-SAME:  xtc.notes = ["{{.*}}: no bulk copies: a stride of the tensor, 516 bytes, is not a multiple of 16 bytes"]
// CHECK:       "tile.copy_async"
// CHECK:       "tile.wgmma"
func.func @declined(%a: memref<256x258xf16, 1>, %b: memref<258x256xf16, 1>, %c: memref<256x256xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<256x256xf32, 1>)
  linalg.matmul ins(%a, %b : memref<256x258xf16, 1>, memref<258x256xf16, 1>) outs(%c : memref<256x256xf32, 1>)
  return
}
