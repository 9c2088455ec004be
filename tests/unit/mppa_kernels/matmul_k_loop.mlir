// SPDX-License-Identifier: Apache-2.0
// C = A B: a tile of 16 rows for each iteration over clusters, a row for each PE, 16 products at a time.
func.func @mm.mppa0.0(%A: memref<96x64xf32, 1>, %B: memref<64x64xf32, 1>, %C: memref<96x64xf32, 1>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (6) {
    %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%i)
    %c = memref.alloc() : memref<16x64xf32, 2>
    scf.forall (%p) in (16) {
      %cp = memref.subview %c[%p, 0] [1, 64] [1, 1] : memref<16x64xf32, 2> to memref<1x64xf32, strided<[64, 1], offset: ?>, 2>
      linalg.fill ins(%zero : f32) outs(%cp : memref<1x64xf32, strided<[64, 1], offset: ?>, 2>)
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.for %k = %c0 to %c64 step %c16 {
      %a = memref.alloc() : memref<16x16xf32, 2>
      %b = memref.alloc() : memref<16x64xf32, 2>
      %va = memref.subview %A[%row, %k] [16, 16] [1, 1] : memref<96x64xf32, 1> to memref<16x16xf32, strided<[64, 1], offset: ?>, 1>
      %vb = memref.subview %B[%k, 0] [16, 64] [1, 1] : memref<64x64xf32, 1> to memref<16x64xf32, strided<[64, 1], offset: ?>, 1>
      memref.copy %va, %a : memref<16x16xf32, strided<[64, 1], offset: ?>, 1> to memref<16x16xf32, 2>
      memref.copy %vb, %b : memref<16x64xf32, strided<[64, 1], offset: ?>, 1> to memref<16x64xf32, 2>
      scf.forall (%p) in (16) {
        %ap = memref.subview %a[%p, 0] [1, 16] [1, 1] : memref<16x16xf32, 2> to memref<1x16xf32, strided<[16, 1], offset: ?>, 2>
        %cp = memref.subview %c[%p, 0] [1, 64] [1, 1] : memref<16x64xf32, 2> to memref<1x64xf32, strided<[64, 1], offset: ?>, 2>
        linalg.matmul ins(%ap, %b : memref<1x16xf32, strided<[16, 1], offset: ?>, 2>, memref<16x64xf32, 2>) outs(%cp : memref<1x64xf32, strided<[64, 1], offset: ?>, 2>)
      } {mapping = [#gpu.thread<linear_dim_0>]}
    }
    %vc = memref.subview %C[%row, 0] [16, 64] [1, 1] : memref<96x64xf32, 1> to memref<16x64xf32, strided<[64, 1], offset: ?>, 1>
    memref.copy %c, %vc : memref<16x64xf32, 2> to memref<16x64xf32, strided<[64, 1], offset: ?>, 1>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
