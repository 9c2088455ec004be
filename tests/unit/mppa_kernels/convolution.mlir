// SPDX-License-Identifier: Apache-2.0
// A convolution, channels last, and one with channels first: tiles of 4 dimensions with a border of 2.
func.func @channels_last(%X: memref<2x10x12x8xf32, 1>, %K: memref<3x3x8x20xf32, 1>, %Y: memref<2x8x10x20xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%n, %h) = (0, 0) to (2, 8) step (1, 4) {
    %x = memref.alloc() : memref<1x6x12x8xf32, 2>
    %k = memref.alloc() : memref<3x3x8x20xf32, 2>
    %y = memref.alloc() : memref<1x4x10x20xf32, 2>
    %vx = memref.subview %X[%n, %h, 0, 0] [1, 6, 12, 8] [1, 1, 1, 1]
      : memref<2x10x12x8xf32, 1> to memref<1x6x12x8xf32, strided<[960, 96, 8, 1], offset: ?>, 1>
    %vy = memref.subview %Y[%n, %h, 0, 0] [1, 4, 10, 20] [1, 1, 1, 1]
      : memref<2x8x10x20xf32, 1> to memref<1x4x10x20xf32, strided<[1600, 200, 20, 1], offset: ?>, 1>
    memref.copy %vx, %x : memref<1x6x12x8xf32, strided<[960, 96, 8, 1], offset: ?>, 1> to memref<1x6x12x8xf32, 2>
    memref.copy %K, %k : memref<3x3x8x20xf32, 1> to memref<3x3x8x20xf32, 2>
    scf.forall (%p) in (4) {
      %px = memref.subview %x[0, %p, 0, 0] [1, 3, 12, 8] [1, 1, 1, 1]
        : memref<1x6x12x8xf32, 2> to memref<1x3x12x8xf32, strided<[576, 96, 8, 1], offset: ?>, 2>
      %py = memref.subview %y[0, %p, 0, 0] [1, 1, 10, 20] [1, 1, 1, 1]
        : memref<1x4x10x20xf32, 2> to memref<1x1x10x20xf32, strided<[800, 200, 20, 1], offset: ?>, 2>
      linalg.fill ins(%zero : f32) outs(%py : memref<1x1x10x20xf32, strided<[800, 200, 20, 1], offset: ?>, 2>)
      linalg.conv_2d_nhwc_hwcf
        ins(%px, %k : memref<1x3x12x8xf32, strided<[576, 96, 8, 1], offset: ?>, 2>, memref<3x3x8x20xf32, 2>)
        outs(%py : memref<1x1x10x20xf32, strided<[800, 200, 20, 1], offset: ?>, 2>)
    } {mapping = [#gpu.thread<linear_dim_0>]}
    memref.copy %y, %vy : memref<1x4x10x20xf32, 2> to memref<1x4x10x20xf32, strided<[1600, 200, 20, 1], offset: ?>, 1>
  } {mapping = [#gpu.block<linear_dim_0>, #gpu.block<linear_dim_1>]}
  return
}
func.func @channels_first(%X: memref<2x8x10x12xf32, 1>, %K: memref<20x8x3x3xf32, 1>, %Y: memref<2x20x8x10xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%n, %h) = (0, 0) to (2, 8) step (1, 2) {
    %x = memref.alloc() : memref<1x8x4x12xf32, 2>
    %k = memref.alloc() : memref<20x8x3x3xf32, 2>
    %y = memref.alloc() : memref<1x20x2x10xf32, 2>
    %vx = memref.subview %X[%n, 0, %h, 0] [1, 8, 4, 12] [1, 1, 1, 1]
      : memref<2x8x10x12xf32, 1> to memref<1x8x4x12xf32, strided<[960, 120, 12, 1], offset: ?>, 1>
    %vy = memref.subview %Y[%n, 0, %h, 0] [1, 20, 2, 10] [1, 1, 1, 1]
      : memref<2x20x8x10xf32, 1> to memref<1x20x2x10xf32, strided<[1600, 80, 10, 1], offset: ?>, 1>
    memref.copy %vx, %x : memref<1x8x4x12xf32, strided<[960, 120, 12, 1], offset: ?>, 1> to memref<1x8x4x12xf32, 2>
    memref.copy %K, %k : memref<20x8x3x3xf32, 1> to memref<20x8x3x3xf32, 2>
    scf.forall (%p) = (0) to (20) step (5) {
      %pk = memref.subview %k[%p, 0, 0, 0] [5, 8, 3, 3] [1, 1, 1, 1]
        : memref<20x8x3x3xf32, 2> to memref<5x8x3x3xf32, strided<[72, 9, 3, 1], offset: ?>, 2>
      %py = memref.subview %y[0, %p, 0, 0] [1, 5, 2, 10] [1, 1, 1, 1]
        : memref<1x20x2x10xf32, 2> to memref<1x5x2x10xf32, strided<[400, 20, 10, 1], offset: ?>, 2>
      linalg.fill ins(%zero : f32) outs(%py : memref<1x5x2x10xf32, strided<[400, 20, 10, 1], offset: ?>, 2>)
      linalg.conv_2d_nchw_fchw
        ins(%x, %pk : memref<1x8x4x12xf32, 2>, memref<5x8x3x3xf32, strided<[72, 9, 3, 1], offset: ?>, 2>)
        outs(%py : memref<1x5x2x10xf32, strided<[400, 20, 10, 1], offset: ?>, 2>)
    } {mapping = [#gpu.thread<linear_dim_0>]}
    memref.copy %y, %vy : memref<1x20x2x10xf32, 2> to memref<1x20x2x10xf32, strided<[1600, 80, 10, 1], offset: ?>, 1>
  } {mapping = [#gpu.block<linear_dim_0>, #gpu.block<linear_dim_1>]}
  return
}
