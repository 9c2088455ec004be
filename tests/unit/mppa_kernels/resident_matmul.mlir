// SPDX-License-Identifier: Apache-2.0
// Each cluster brings its own A and B of 256x256 into its memory, and adds A B to C four times there.
func.func @resident(%A: memref<5x256x256xf32, 1>, %B: memref<5x256x256xf32, 1>, %C: memref<5x256x256xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.forall (%i) in (5) {
    %a = memref.alloc() : memref<256x256xf32, 2>
    %b = memref.alloc() : memref<256x256xf32, 2>
    %c = memref.alloc() : memref<256x256xf32, 2>
    %va = memref.subview %A[%i, 0, 0] [1, 256, 256] [1, 1, 1] : memref<5x256x256xf32, 1> to memref<256x256xf32, strided<[256, 1], offset: ?>, 1>
    %vb = memref.subview %B[%i, 0, 0] [1, 256, 256] [1, 1, 1] : memref<5x256x256xf32, 1> to memref<256x256xf32, strided<[256, 1], offset: ?>, 1>
    %vc = memref.subview %C[%i, 0, 0] [1, 256, 256] [1, 1, 1] : memref<5x256x256xf32, 1> to memref<256x256xf32, strided<[256, 1], offset: ?>, 1>
    memref.copy %va, %a : memref<256x256xf32, strided<[256, 1], offset: ?>, 1> to memref<256x256xf32, 2>
    memref.copy %vb, %b : memref<256x256xf32, strided<[256, 1], offset: ?>, 1> to memref<256x256xf32, 2>
    scf.forall (%p) = (0) to (256) step (16) {
      %ap = memref.subview %a[%p, 0] [16, 256] [1, 1] : memref<256x256xf32, 2> to memref<16x256xf32, strided<[256, 1], offset: ?>, 2>
      %cp = memref.subview %c[%p, 0] [16, 256] [1, 1] : memref<256x256xf32, 2> to memref<16x256xf32, strided<[256, 1], offset: ?>, 2>
      linalg.fill ins(%zero : f32) outs(%cp : memref<16x256xf32, strided<[256, 1], offset: ?>, 2>)
      scf.for %r = %c0 to %c4 step %c1 {
        linalg.matmul ins(%ap, %b : memref<16x256xf32, strided<[256, 1], offset: ?>, 2>, memref<256x256xf32, 2>)
          outs(%cp : memref<16x256xf32, strided<[256, 1], offset: ?>, 2>)
      }
    } {mapping = [#gpu.thread<linear_dim_0>]}
    memref.copy %c, %vc : memref<256x256xf32, 2> to memref<256x256xf32, strided<[256, 1], offset: ?>, 1>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
