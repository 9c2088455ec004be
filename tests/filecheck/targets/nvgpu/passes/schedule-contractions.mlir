// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --schedule-contractions | FileCheck %s
// RUN: xtc-opt %s --schedule-contractions{sms=16} | FileCheck %s --check-prefix=SMALL

// Large tiles are enough for all multiprocessors; a smaller machine uses them for smaller
// contractions.
// CHECK-LABEL: func.func @large(
// CHECK:       linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = [{axis = "i", parallelize}, {axis = "j", parallelize}, {axis = "k", pack = array<i64: 0, 1>}, {axis = "i", parallelize, tile = 128 : i64}, {axis = "j", parallelize, tile = 128 : i64}, {axis = "k", tile = 16 : i64, unroll = 4 : i64}, {axis = "i", tile = 16 : i64, unroll = 16 : i64}, {axis = "j", tile = 4 : i64, vectorize}]}
// SMALL-LABEL: func.func @large(
// SMALL:       {axis = "i", parallelize, tile = 128 : i64}, {axis = "j", parallelize, tile = 128 : i64}
func.func @large(%a: tensor<2048x2048xf32>, %b: tensor<2048x2048xf32>, %c: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<2048x2048xf32>, tensor<2048x2048xf32>)
    outs(%c : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %0 : tensor<2048x2048xf32>
}

// CHECK-LABEL: func.func @small(
// CHECK:       {axis = "i", parallelize, tile = 32 : i64}, {axis = "j", parallelize, tile = 32 : i64}
// SMALL-LABEL: func.func @small(
// SMALL:       {axis = "i", parallelize, tile = 64 : i64}, {axis = "j", parallelize, tile = 64 : i64}
func.func @small(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<256x256xf32>, tensor<256x256xf32>)
    outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}

// The block packs a single tile along K.
// CHECK-LABEL: func.func @thin(
// CHECK:       loop.schedule = [{axis = "i", parallelize}, {axis = "j", pack = array<i64: 0, 1>, parallelize}, {axis = "i", parallelize, tile = {{[0-9]+}} : i64}, {axis = "j", parallelize, tile = {{[0-9]+}} : i64}, {axis = "k", unroll = 4 : i64}
func.func @thin(%a: tensor<256x16xf32>, %b: tensor<16x256xf32>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<256x16xf32>, tensor<16x256xf32>)
    outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}

// Matrices that share an operand; the rows belong to the second operand, which is contiguous along
// them.
#ac = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#bc = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
#cc = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @batched(
// CHECK:       loop.dims = ["d0", "d1", "d2", "d3"], loop.schedule = [{axis = "d0", parallelize}, {axis = "d1", parallelize}, {axis = "d2", parallelize}, {axis = "d3", pack = array<i64: 1, 0>}
func.func @batched(%a: tensor<64x256xf32>, %b: tensor<5x64x256xf32>, %c: tensor<5x256x256xf32>) -> tensor<5x256x256xf32> {
  %0 = linalg.generic {indexing_maps = [#ac, #bc, #cc], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%a, %b : tensor<64x256xf32>, tensor<5x64x256xf32>) outs(%c : tensor<5x256x256xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  } -> tensor<5x256x256xf32>
  return %0 : tensor<5x256x256xf32>
}

// No tile divides the sizes: operands are padded with zeros, the accumulators are padded, and a part of the
// result is used.
// CHECK-LABEL: func.func @uneven(
// CHECK:       %[[WIDE:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<128x{{.*}}xf32>)
// CHECK:         %[[I:.*]] = linalg.index 0
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %[[I]], %c100
// CHECK:         %[[ELEMENT:.*]] = tensor.extract %arg0
// CHECK:         arith.select %[[INSIDE]], %[[ELEMENT]], %{{.*}} : f32
// CHECK:       linalg.fill {{.*}} outs(%{{.*}} : tensor<128x96xf32>)
// CHECK:       %[[ALL:.*]] = linalg.matmul {{.*}} outs({{.*}} : tensor<128x96xf32>)
// CHECK:       %[[PART:.*]] = tensor.extract_slice %[[ALL]][0, 0] [100, 90] [1, 1]
// CHECK:       return %[[PART]]
func.func @uneven(%a: tensor<100x64xf32>, %b: tensor<64x90xf32>) -> tensor<100x90xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<100x90xf32>
  %c = linalg.fill ins(%zero : f32) outs(%empty : tensor<100x90xf32>) -> tensor<100x90xf32>
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<100x64xf32>, tensor<64x90xf32>)
    outs(%c : tensor<100x90xf32>) -> tensor<100x90xf32>
  return %0 : tensor<100x90xf32>
}

// Unchanged: too small for two blocks; scheduled by the user; part of another kernel; not a
// contraction.
// CHECK-LABEL: func.func @left(
// CHECK:       linalg.matmul ins
// CHECK:       linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = "{i: parallelize}"}
// CHECK:       linalg.matmul {xtc.kernel = 0 : i64} ins
// CHECK:       linalg.generic
// CHECK-NOT:   loop.schedule
func.func @left(%a: tensor<16x16xf32>, %c: tensor<256x256xf32>) -> (tensor<16x16xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) {
  %0 = linalg.matmul ins(%a, %a : tensor<16x16xf32>, tensor<16x16xf32>) outs(%a : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = "{i: parallelize}"}
    ins(%c, %c : tensor<256x256xf32>, tensor<256x256xf32>) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = linalg.matmul {xtc.kernel = 0 : i64}
    ins(%c, %c : tensor<256x256xf32>, tensor<256x256xf32>) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%c, %c : tensor<256x256xf32>, tensor<256x256xf32>) outs(%c : tensor<256x256xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.addf %x, %y : f32
    %s = arith.maximumf %z, %p : f32
    linalg.yield %s : f32
  } -> tensor<256x256xf32>
  return %0, %1, %2, %3 : tensor<16x16xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>
}
