// RUN: xtc-opt %s --fuse-by-dual-multiplies | FileCheck %s

// Weights are stored in the order of tiles: two columns, words of four elements along K.
// CHECK: xtc.packed = {few.tiles1 = [@few, memref<1x2x2x4xi8, strided<[2, 8, 1, 2]>>]
// CHECK-SAME:          w.tiles0 = [@w, memref<4x2x2x4xi8, strided<[2, 32, 1, 8]>>]
// CHECK: memref.global constant @w.tiles0 : memref<64xi8> {alignment = 4 : i64}
// CHECK-LABEL: func.func @product(
// Rows are widened once for all columns: three of them, two words of halves for each of K.
// CHECK:         %[[WIDE:.*]] = memref.alloc() {xtc.node = "y"} : memref<12xi32>
// CHECK-NOT:     memref.alloc()
// CHECK:         %[[W:.*]] = memref.get_global @w.tiles0
// CHECK:         scf.for
// CHECK:           vector.load %{{.*}} : memref<40xi8, strided<[1]>>, vector<4xi8>
// CHECK-COUNT-2:   "llvm.arm.sxtb16"
// CHECK-COUNT-2:   memref.store %{{.*}}, %[[WIDE]]
// CHECK:         {loop_annotation = #{{.*}}}
// Rows by two columns: six sums in registers, K in one piece of assembly.
// CHECK:         scf.for
// CHECK:           %[[X:.*]] = memref.extract_aligned_pointer_as_index %[[WIDE]]
// CHECK:           memref.extract_aligned_pointer_as_index %[[W]]
// CHECK:           llvm.inline_asm has_side_effects "ldrd $10, $12, [$7], #8\0Asxtb16 $11, $10, ror #8
// CHECK-SAME:        smlad $5, $9, $13, $5", "=&r,{{.*}},0,1,2,3,4,5,6,7,~{memory},~{cc}"
// The epilogue of each sum, where it is.
// CHECK-COUNT-6:     memref.store %{{.*}}, %arg1
// The last two rows are a tile of two.
// CHECK:         llvm.inline_asm
// CHECK-COUNT-4:     memref.store %{{.*}}, %arg1
// CHECK-NOT:     llvm.inline_asm
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

// For few columns, rows are widened in the multiplication loop.
// CHECK-LABEL: func.func @few_columns(
// CHECK-NOT:     memref.alloc
// CHECK:         scf.for %{{.*}} = %{{.*}} to %c4 step %c2
// CHECK:           "llvm.arm.sxtb16"
// CHECK-COUNT-16:    "llvm.arm.smlad"
// CHECK:         "llvm.arm.smlad"
memref.global constant @few : memref<8x2xi8>
func.func @few_columns(%x: memref<5x8xi8>, %y: memref<5x2xi32>) {
  %c0 = arith.constant 0 : i32
  %w = memref.get_global @few : memref<8x2xi8>
  linalg.fill ins(%c0 : i32) outs(%y : memref<5x2xi32>)
  linalg.matmul ins(%x, %w : memref<5x8xi8>, memref<8x2xi8>) outs(%y : memref<5x2xi32>)
  return
}

// Channels with separate weights are contiguous: four at a time, by halves.
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

// Contractions without constant weights are unchanged.
// CHECK-LABEL: func.func @stays(
// CHECK:         linalg.matmul
func.func @stays(%x: memref<3x8xi8>, %w: memref<8x8xi8>, %y: memref<3x8xi32>) {
  %c0 = arith.constant 0 : i32
  linalg.fill ins(%c0 : i32) outs(%y : memref<3x8xi32>)
  linalg.matmul ins(%x, %w : memref<3x8xi8>, memref<8x8xi8>) outs(%y : memref<3x8xi32>)
  return
}
