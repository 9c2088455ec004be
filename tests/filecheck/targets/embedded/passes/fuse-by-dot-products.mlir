// RUN: xtc-opt %s --fuse-by-dot-products | FileCheck %s

// Weights are stored in the order of tiles: eight columns, words of four elements along K.
// CHECK: xtc.packed = {w.tiles0 = [@w, memref<1x2x8x4xi8, strided<[8, 32, 1, 8]>>]}
// CHECK-LABEL: func.func @product(
// CHECK:         %[[W:.*]] = memref.get_global @w.tiles0
// A word of each of four rows, in every lane; sixteen weights are four of each of four columns.
// CHECK:         vector.load %{{.*}} : memref<40xi8, strided<[1]>>, vector<4xi8>
// CHECK:         vector.broadcast %{{.*}} : i32 to vector<4xi32>
// CHECK:         vector.load %[[W]][%{{.*}}] {alignment = 4 : i64{{.*}}} : memref<64xi8>, vector<16xi8>
// CHECK-COUNT-16: "llvm.aarch64.neon.sdot.v4i32.v16i8"
// CHECK:         arith.trunci %{{.*}} : vector<4xi32> to vector<4xi8>
// CHECK:         vector.store %{{.*}}, %arg1
// The last row is a tile of one.
// CHECK-COUNT-4: "llvm.aarch64.neon.sdot.v4i32.v16i8"
// CHECK-NOT:     "llvm.aarch64.neon.sdot.v4i32.v16i8"
// CHECK-LABEL: func.func @channels(
// CHECK:         "llvm.aarch64.neon.smull.v4i32"
// CHECK-LABEL: func.func @stays(
// CHECK:         linalg.matmul
memref.global constant @w : memref<8x8xi8>
func.func @product(%x: memref<5x8xi8>, %y: memref<5x8xi8>, %bias: memref<8xi32>) {
  %c0 = arith.constant 0 : i32
  %w = memref.get_global @w : memref<8x8xi8>
  %a = memref.alloc() : memref<5x8xi32>
  linalg.fill ins(%c0 : i32) outs(%a : memref<5x8xi32>)
  linalg.matmul {__xtc_id_m_} ins(%x, %w : memref<5x8xi8>, memref<8x8xi8>) outs(%a : memref<5x8xi32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                   affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%a, %bias : memref<5x8xi32>, memref<8xi32>) outs(%y : memref<5x8xi8>)
      attrs = {__xtc_id_y_} {
  ^bb0(%in: i32, %b: i32, %out: i8):
    %0 = arith.addi %in, %b : i32
    %1 = arith.trunci %0 : i32 to i8
    linalg.yield %1 : i8
  }
  return
}

memref.global constant @v : memref<3x3x4xi8>
func.func @channels(%x: memref<1x5x5x4xi8>, %y: memref<1x3x3x4xi32>) {
  %c0 = arith.constant 0 : i32
  %v = memref.get_global @v : memref<3x3x4xi8>
  linalg.fill ins(%c0 : i32) outs(%y : memref<1x3x3x4xi32>)
  linalg.depthwise_conv_2d_nhwc_hwc
      ins(%x, %v : memref<1x5x5x4xi8>, memref<3x3x4xi8>) outs(%y : memref<1x3x3x4xi32>)
  return
}

// Contractions without constant weights are unchanged.
func.func @stays(%x: memref<3x8xi8>, %w: memref<8x8xi8>, %y: memref<3x8xi32>) {
  %c0 = arith.constant 0 : i32
  linalg.fill ins(%c0 : i32) outs(%y : memref<3x8xi32>)
  linalg.matmul ins(%x, %w : memref<3x8xi8>, memref<8x8xi8>) outs(%y : memref<3x8xi32>)
  return
}
