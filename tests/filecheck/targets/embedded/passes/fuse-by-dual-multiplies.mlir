// RUN: xtc-opt %s --fuse-by-dual-multiplies | FileCheck %s

// Weights are stored as tiles read them: two columns, words of four elements along K.
// CHECK: xtc.packed = {w.tiles0 = [@w, memref<4x2x2x4xi8, strided<[2, 32, 1, 8]>>]}
// CHECK: memref.global constant @w.tiles0 : memref<64xi8> {alignment = 4 : i64}
// CHECK-LABEL: func.func @product(
// CHECK-NOT:     memref.alloc()
// CHECK:         %[[W:.*]] = memref.get_global @w.tiles0
// Rows by two, columns by two; both words of K are written out, and four sums are in registers.
// CHECK:         scf.for %{{.*}} = %{{.*}} to %c4 step %c2
// CHECK:           scf.for
// CHECK:             vector.load %{{.*}} : memref<40xi8, strided<[1]>>, vector<4xi8>
// CHECK:             "llvm.arm.sxtb16"
// CHECK:             vector.load %[[W]][%{{.*}}] {alignment = 4 : i64}
// CHECK-COUNT-16:    "llvm.arm.smlad"
// The epilogue of each sum, where it is.
// CHECK:             arith.addi
// CHECK:             arith.trunci %{{.*}} : i32 to i8
// CHECK:             memref.store %{{.*}}, %arg1
// The last row is a tile of one.
// CHECK:         xtc.node = "y"
// CHECK:         scf.for
// CHECK-COUNT-8:   "llvm.arm.smlad"
// CHECK-NOT:       "llvm.arm.smlad"
// CHECK:         return

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

// Channels with weights of their own are next to each other: four at a time, by halves.
// CHECK-LABEL: func.func @channels(
// CHECK-COUNT-2: "llvm.arm.smlabb"
// CHECK-COUNT-2: "llvm.arm.smlatt"
memref.global constant @v : memref<3x3x4xi8>
func.func @channels(%x: memref<1x5x5x4xi8>, %y: memref<1x3x3x4xi32>) {
  %c0 = arith.constant 0 : i32
  %v = memref.get_global @v : memref<3x3x4xi8>
  linalg.fill ins(%c0 : i32) outs(%y : memref<1x3x3x4xi32>)
  linalg.depthwise_conv_2d_nhwc_hwc
      ins(%x, %v : memref<1x5x5x4xi8>, memref<3x3x4xi8>) outs(%y : memref<1x3x3x4xi32>)
  return
}

// What has no constant weights stays.
// CHECK-LABEL: func.func @stays(
// CHECK:         linalg.matmul
func.func @stays(%x: memref<3x8xi8>, %w: memref<8x8xi8>, %y: memref<3x8xi32>) {
  %c0 = arith.constant 0 : i32
  linalg.fill ins(%c0 : i32) outs(%y : memref<3x8xi32>)
  linalg.matmul ins(%x, %w : memref<3x8xi8>, memref<8x8xi8>) outs(%y : memref<3x8xi32>)
  return
}
