// SPDX-License-Identifier: Apache-2.0
// C = A B of 512x512: up to 103 rows for each cluster, 32 columns for each PE, 64 products at a time
// from two slots, so that the DMA brings the next 64 meanwhile.
#rows = affine_map<(d0) -> (103, -d0 + 512)>
func.func @streamed(%A: memref<512x512xf32, 1>, %B: memref<512x512xf32, 1>, %C: memref<512x512xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  scf.forall (%i) = (0) to (512) step (103) {
    %n = affine.min #rows(%i)
    %c = memref.alloc(%n) : memref<?x512xf32, 2>
    scf.forall (%p) = (0) to (512) step (32) {
      %cp = memref.subview %c[0, %p] [%n, 32] [1, 1] : memref<?x512xf32, 2> to memref<?x32xf32, strided<[512, 1], offset: ?>, 2>
      linalg.fill ins(%zero : f32) outs(%cp : memref<?x32xf32, strided<[512, 1], offset: ?>, 2>)
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.for %k = %c0 to %c512 step %c64 {
      %a = memref.alloc(%n) : memref<?x64xf32, 2>
      %b = memref.alloc() : memref<64x512xf32, 2>
      %va = memref.subview %A[%i, %k] [%n, 64] [1, 1] : memref<512x512xf32, 1> to memref<?x64xf32, strided<[512, 1], offset: ?>, 1>
      %vb = memref.subview %B[%k, 0] [64, 512] [1, 1] : memref<512x512xf32, 1> to memref<64x512xf32, strided<[512, 1], offset: ?>, 1>
      memref.copy %va, %a : memref<?x64xf32, strided<[512, 1], offset: ?>, 1> to memref<?x64xf32, 2>
      memref.copy %vb, %b : memref<64x512xf32, strided<[512, 1], offset: ?>, 1> to memref<64x512xf32, 2>
      scf.forall (%p) = (0) to (512) step (32) {
        %bp = memref.subview %b[0, %p] [64, 32] [1, 1] : memref<64x512xf32, 2> to memref<64x32xf32, strided<[512, 1], offset: ?>, 2>
        %cp = memref.subview %c[0, %p] [%n, 32] [1, 1] : memref<?x512xf32, 2> to memref<?x32xf32, strided<[512, 1], offset: ?>, 2>
        linalg.matmul ins(%a, %bp : memref<?x64xf32, 2>, memref<64x32xf32, strided<[512, 1], offset: ?>, 2>)
          outs(%cp : memref<?x32xf32, strided<[512, 1], offset: ?>, 2>)
      } {mapping = [#gpu.thread<linear_dim_0>]}
    }
    %vc = memref.subview %C[%i, 0] [%n, 512] [1, 1] : memref<512x512xf32, 1> to memref<?x512xf32, strided<[512, 1], offset: ?>, 1>
    memref.copy %c, %vc : memref<?x512xf32, 2> to memref<?x512xf32, strided<[512, 1], offset: ?>, 1>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
