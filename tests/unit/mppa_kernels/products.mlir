// SPDX-License-Identifier: Apache-2.0
// Products of other types, with ends that micro-kernels of full size do not fit, in DDR directly.
func.func @halves(%A: memref<7x9xf16, 1>, %B: memref<9x21xf16, 1>, %C: memref<7x21xf32, 1>) {
  linalg.matmul ins(%A, %B : memref<7x9xf16, 1>, memref<9x21xf16, 1>) outs(%C : memref<7x21xf32, 1>)
  return
}
func.func @bytes(%A: memref<7x9xi8, 1>, %B: memref<9x21xi8, 1>, %C: memref<7x21xi32, 1>) {
  linalg.matmul ins(%A, %B : memref<7x9xi8, 1>, memref<9x21xi8, 1>) outs(%C : memref<7x21xi32, 1>)
  return
}
func.func @doubles(%A: memref<7x9xf64, 1>, %B: memref<9x21xf64, 1>, %C: memref<7x21xf64, 1>) {
  linalg.matmul ins(%A, %B : memref<7x9xf64, 1>, memref<9x21xf64, 1>) outs(%C : memref<7x21xf64, 1>)
  return
}
func.func @transposed(%A: memref<7x9xf32, 1>, %B: memref<21x9xf32, 1>, %C: memref<7x21xf32, 1>) {
  linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
    ins(%A, %B : memref<7x9xf32, 1>, memref<21x9xf32, 1>) outs(%C : memref<7x21xf32, 1>)
  return
}
func.func @batches(%A: memref<3x7x9xf32, 1>, %B: memref<3x9x21xf32, 1>, %C: memref<3x7x21xf32, 1>) {
  scf.forall (%i) in (3) {
    %a = memref.subview %A[%i, 0, 0] [1, 7, 9] [1, 1, 1] : memref<3x7x9xf32, 1> to memref<1x7x9xf32, strided<[63, 9, 1], offset: ?>, 1>
    %b = memref.subview %B[%i, 0, 0] [1, 9, 21] [1, 1, 1] : memref<3x9x21xf32, 1> to memref<1x9x21xf32, strided<[189, 21, 1], offset: ?>, 1>
    scf.forall (%p) = (0) to (7) step (3) {
      %n = affine.min affine_map<(d0) -> (3, -d0 + 7)>(%p)
      %pa = memref.subview %a[0, %p, 0] [1, %n, 9] [1, 1, 1] : memref<1x7x9xf32, strided<[63, 9, 1], offset: ?>, 1> to memref<1x?x9xf32, strided<[63, 9, 1], offset: ?>, 1>
      %pc = memref.subview %C[%i, %p, 0] [1, %n, 21] [1, 1, 1] : memref<3x7x21xf32, 1> to memref<1x?x21xf32, strided<[147, 21, 1], offset: ?>, 1>
      linalg.batch_matmul ins(%pa, %b : memref<1x?x9xf32, strided<[63, 9, 1], offset: ?>, 1>, memref<1x9x21xf32, strided<[189, 21, 1], offset: ?>, 1>)
        outs(%pc : memref<1x?x21xf32, strided<[147, 21, 1], offset: ?>, 1>)
    } {mapping = [#gpu.thread<linear_dim_0>]}
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
