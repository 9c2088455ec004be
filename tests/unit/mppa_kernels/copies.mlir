// SPDX-License-Identifier: Apache-2.0
// Copies that the DMA cannot do as rows: elements apart in DDR, transposed, three dimensions with gaps.
func.func @every_third(%A: memref<90xi16, 1>, %B: memref<30xi16, 1>) {
  %t = memref.alloc() : memref<30xi16, 2>
  %va = memref.subview %A[1] [30] [3] : memref<90xi16, 1> to memref<30xi16, strided<[3], offset: 1>, 1>
  memref.copy %va, %t : memref<30xi16, strided<[3], offset: 1>, 1> to memref<30xi16, 2>
  memref.copy %t, %B : memref<30xi16, 2> to memref<30xi16, 1>
  return
}
func.func @corner(%A: memref<4x5x6x7xi8, 1>, %B: memref<2x3x2x5xi8, 1>) {
  %t = memref.alloc() : memref<2x3x2x5xi8, 2>
  %va = memref.subview %A[1, 2, 3, 1] [2, 3, 2, 5] [1, 1, 1, 1]
    : memref<4x5x6x7xi8, 1> to memref<2x3x2x5xi8, strided<[210, 42, 7, 1], offset: 316>, 1>
  memref.copy %va, %t : memref<2x3x2x5xi8, strided<[210, 42, 7, 1], offset: 316>, 1> to memref<2x3x2x5xi8, 2>
  memref.copy %t, %B : memref<2x3x2x5xi8, 2> to memref<2x3x2x5xi8, 1>
  return
}
func.func @within_ddr(%A: memref<8x8xf64, 1>, %B: memref<8x8xf64, 1>) {
  %va = memref.subview %A[2, 0] [4, 8] [1, 1] : memref<8x8xf64, 1> to memref<4x8xf64, strided<[8, 1], offset: 16>, 1>
  %vb = memref.subview %B[0, 0] [4, 8] [1, 1] : memref<8x8xf64, 1> to memref<4x8xf64, strided<[8, 1]>, 1>
  memref.copy %va, %vb : memref<4x8xf64, strided<[8, 1], offset: 16>, 1> to memref<4x8xf64, strided<[8, 1]>, 1>
  return
}
// The first tile of three dimensions has a known size, the last one is smaller.
func.func @slabs(%A: memref<2x10x7xi16, 1>, %B: memref<2x10x3xi16, 1>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  scf.forall (%i) in (1) {
    scf.for %k = %c0 to %c10 step %c4 {
      %n = affine.min affine_map<(d0) -> (4, -d0 + 10)>(%k)
      %t = memref.alloc(%n) : memref<2x?x3xi16, 2>
      %va = memref.subview %A[0, %k, 2] [2, %n, 3] [1, 1, 1]
        : memref<2x10x7xi16, 1> to memref<2x?x3xi16, strided<[70, 7, 1], offset: ?>, 1>
      %vb = memref.subview %B[0, %k, 0] [2, %n, 3] [1, 1, 1]
        : memref<2x10x3xi16, 1> to memref<2x?x3xi16, strided<[30, 3, 1], offset: ?>, 1>
      memref.copy %va, %t : memref<2x?x3xi16, strided<[70, 7, 1], offset: ?>, 1> to memref<2x?x3xi16, 2>
      memref.copy %t, %vb : memref<2x?x3xi16, 2> to memref<2x?x3xi16, strided<[30, 3, 1], offset: ?>, 1>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
