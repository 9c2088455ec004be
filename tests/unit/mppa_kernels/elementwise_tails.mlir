// SPDX-License-Identifier: Apache-2.0
// C = A * B + A of 1003 elements: tiles of 64 for each cluster, the last one has 43. PEs take 4 each,
// the last of them fewer.
#tile = affine_map<(d0) -> (64, -d0 + 1003)>
#part = affine_map<(d0)[s0] -> (4, -d0 + s0)>
func.func @tails(%A: memref<1003xf32, 1>, %B: memref<1003xf32, 1>, %C: memref<1003xf32, 1>) {
  scf.forall (%i) = (0) to (1003) step (64) {
    %n = affine.min #tile(%i)
    %a = memref.alloc(%n) : memref<?xf32, 2>
    %b = memref.alloc(%n) : memref<?xf32, 2>
    %va = memref.subview %A[%i] [%n] [1] : memref<1003xf32, 1> to memref<?xf32, strided<[1], offset: ?>, 1>
    %vb = memref.subview %B[%i] [%n] [1] : memref<1003xf32, 1> to memref<?xf32, strided<[1], offset: ?>, 1>
    %vc = memref.subview %C[%i] [%n] [1] : memref<1003xf32, 1> to memref<?xf32, strided<[1], offset: ?>, 1>
    memref.copy %va, %a : memref<?xf32, strided<[1], offset: ?>, 1> to memref<?xf32, 2>
    memref.copy %vb, %b : memref<?xf32, strided<[1], offset: ?>, 1> to memref<?xf32, 2>
    scf.forall (%p) = (0) to (%n) step (4) {
      %m = affine.min #part(%p)[%n]
      %pa = memref.subview %a[%p] [%m] [1] : memref<?xf32, 2> to memref<?xf32, strided<[1], offset: ?>, 2>
      %pb = memref.subview %b[%p] [%m] [1] : memref<?xf32, 2> to memref<?xf32, strided<[1], offset: ?>, 2>
      linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%pa : memref<?xf32, strided<[1], offset: ?>, 2>) outs(%pb : memref<?xf32, strided<[1], offset: ?>, 2>) {
      ^bb0(%x: f32, %y: f32):
        %xy = arith.mulf %x, %y : f32
        %z = arith.addf %xy, %x : f32
        linalg.yield %z : f32
      }
    } {mapping = [#gpu.thread<linear_dim_0>]}
    memref.copy %b, %vc : memref<?xf32, 2> to memref<?xf32, strided<[1], offset: ?>, 1>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
