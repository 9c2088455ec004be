// SPDX-License-Identifier: Apache-2.0
// s[i] = sum of A[i, :], rows over clusters and PEs: a private buffer holds each PE's row, and its sum
// is written to DDR directly. Then the PEs of a cluster double the sums of their neighbors, in SMEM.
func.func @sums.mppa0.0(%A: memref<20x96xf32, 1>, %S: memref<20xf32, 1>, %D: memref<20xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (20) step (4) {
    %s = memref.alloc() : memref<4xf32, 2>
    %d = memref.alloc() : memref<4xf32, 2>
    scf.forall (%p) in (4) {
      %row = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%p)[%i]
      %own = memref.alloc() : memref<96xf32, 2>
      %va = memref.subview %A[%row, 0] [1, 96] [1, 1] : memref<20x96xf32, 1> to memref<96xf32, strided<[1], offset: ?>, 1>
      memref.copy %va, %own : memref<96xf32, strided<[1], offset: ?>, 1> to memref<96xf32, 2>
      %one = memref.subview %s[%p] [1] [1] : memref<4xf32, 2> to memref<f32, strided<[], offset: ?>, 2>
      memref.store %zero, %one[] : memref<f32, strided<[], offset: ?>, 2>
      linalg.reduce ins(%own : memref<96xf32, 2>) outs(%one : memref<f32, strided<[], offset: ?>, 2>) dimensions = [0]
        (%x: f32, %y: f32) {
          %z = arith.addf %x, %y : f32
          linalg.yield %z : f32
        }
      %total = memref.load %s[%p] : memref<4xf32, 2>
      memref.store %total, %S[%row] : memref<20xf32, 1>
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.forall (%p) in (4) {
      %c3 = arith.constant 3 : index
      %other = arith.subi %c3, %p : index
      %v = memref.load %s[%other] : memref<4xf32, 2>
      %w = arith.addf %v, %v : f32
      memref.store %w, %d[%p] : memref<4xf32, 2>
    } {mapping = [#gpu.thread<linear_dim_0>]}
    %vd = memref.subview %D[%i] [4] [1] : memref<20xf32, 1> to memref<4xf32, strided<[1], offset: ?>, 1>
    memref.copy %d, %vd : memref<4xf32, 2> to memref<4xf32, strided<[1], offset: ?>, 1>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
