// RUN: xtc-opt %s '--add-default-schedules{vector-bits=512 registers=32 l2-bytes=1048576}' | FileCheck %s
// RUN: xtc-opt %s '--add-default-schedules{vector-bits=256 registers=16 parallel=false}' | FileCheck %s --check-prefix=AVX2

// The operand with the vectors is small enough to be read in place.

// CHECK-LABEL: func.func @small
// CHECK: loop.schedule = [{axis = "j", parallelize}, {axis = "i"}, {axis = "k"}, {axis = "i", tile = 12 : i64, unroll = -1 : i64}, {axis = "j", tile = 32 : i64, vectorize}]
// AVX2-LABEL: func.func @small
// AVX2: loop.schedule = [{axis = "j"}, {axis = "i"}, {axis = "k"}, {axis = "i", tile = 6 : i64, unroll = -1 : i64}, {axis = "j", tile = 16 : i64, vectorize}]
func.func @small(%a: tensor<192x128xf32>, %b: tensor<128x128xf32>, %c: tensor<192x128xf32>) -> tensor<192x128xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<192x128xf32>, tensor<128x128xf32>) outs(%c : tensor<192x128xf32>) -> tensor<192x128xf32>
  return %0 : tensor<192x128xf32>
}

// Three vectors of a row save loads if the columns have no remainder; for few rows two are as good.

// CHECK-LABEL: func.func @wide
// CHECK: loop.schedule = [{axis = "j", parallelize}, {axis = "i"}, {axis = "k"}, {axis = "i", tile = 8 : i64, unroll = -1 : i64}, {axis = "j", tile = 48 : i64, vectorize}]
// CHECK: loop.schedule = [{axis = "j"}, {axis = "k"}, {axis = "i", unroll = -1 : i64}, {axis = "j", tile = 32 : i64, vectorize}]
func.func @wide(%a: tensor<128x128xf32>, %few: tensor<14x128xf32>, %b: tensor<128x384xf32>, %c: tensor<128x384xf32>, %d: tensor<14x384xf32>) -> (tensor<128x384xf32>, tensor<14x384xf32>) {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<128x128xf32>, tensor<128x384xf32>) outs(%c : tensor<128x384xf32>) -> tensor<128x384xf32>
  %1 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%few, %b : tensor<14x128xf32>, tensor<128x384xf32>) outs(%d : tensor<14x384xf32>) -> tensor<14x384xf32>
  return %0, %1 : tensor<128x384xf32>, tensor<14x384xf32>
}

// A panel of the operand is copied, a block of K at a time.

// CHECK-LABEL: func.func @large
// CHECK: loop.schedule = [{axis = "j", parallelize}, {axis = "k", pack = array<i64: 1>}, {axis = "j", tile = 128 : i64}, {axis = "i"}, {axis = "k", tile = 512 : i64}, {axis = "i", tile = 6 : i64, unroll = -1 : i64}, {axis = "j", tile = 64 : i64, vectorize}]
func.func @large(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%c : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// A panel of a constant with the whole of K would take 2 MiB: blocks of K have panels that stay in the
// second-level cache while all rows read them.

// CHECK-LABEL: func.func @long
// CHECK: loop.schedule = [{axis = "j", parallelize}, {axis = "k", pack = array<i64: 1>}, {axis = "i"}, {axis = "k", tile = 512 : i64}, {axis = "i", tile = 6 : i64, unroll = -1 : i64}, {axis = "j", tile = 64 : i64, vectorize}]
memref.global constant @weights : memref<8192x1024xf32> = dense<1.0>
func.func @long(%a: tensor<128x8192xf32>, %c: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
  %w = memref.get_global @weights : memref<8192x1024xf32>
  %b = bufferization.to_tensor %w : memref<8192x1024xf32> to tensor<8192x1024xf32>
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<128x8192xf32>, tensor<8192x1024xf32>) outs(%c : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  return %0 : tensor<128x1024xf32>
}

// Few rows: they form one register tile, and data that is read once is not copied. Memory is the
// limit, and long parts of some rows are read side by side.

// CHECK-LABEL: func.func @one_row
// CHECK: loop.schedule = [{axis = "j", parallelize}, {axis = "k"}, {axis = "j", tile = 512 : i64}, {axis = "k", tile = 16 : i64}, {axis = "j", tile = 128 : i64, vectorize}]
func.func @one_row(%a: tensor<1x2048xf32>, %b: tensor<2048x1024xf32>, %c: tensor<1x1024xf32>) -> tensor<1x1024xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<1x2048xf32>, tensor<2048x1024xf32>) outs(%c : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  return %0 : tensor<1x1024xf32>
}

// CHECK-LABEL: func.func @few_rows
// CHECK: loop.schedule = [{axis = "j", parallelize}, {axis = "k"}, {axis = "j", tile = 128 : i64}, {axis = "k", tile = 16 : i64}, {axis = "i", unroll = -1 : i64}, {axis = "j", tile = 32 : i64, vectorize}]
func.func @few_rows(%a: tensor<8x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<8x1024xf32>) -> tensor<8x1024xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<8x1024xf32>, tensor<1024x1024xf32>) outs(%c : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  return %0 : tensor<8x1024xf32>
}

// Small operations are unchanged, and so are those with a user schedule.

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: parallelize
func.func @left_alone(%a: tensor<16x16xf32>, %b: tensor<512x512xf32>, %c: tensor<16x16xf32>, %d: tensor<512x512xf32>) -> (tensor<16x16xf32>, tensor<512x512xf32>) {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %a : tensor<16x16xf32>, tensor<16x16xf32>) outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["j", "i", "k"]} ins(%b, %b : tensor<512x512xf32>, tensor<512x512xf32>) outs(%d : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0, %1 : tensor<16x16xf32>, tensor<512x512xf32>
}

// A convolution: pixels are rows. A few filters are read in place, for a row of the image.

// CHECK-LABEL: func.func @few_filters
// CHECK: loop.schedule = [{axis = "h", parallelize}, {axis = "f", parallelize}, {axis = "w"}, {axis = "r"}, {axis = "s"}, {axis = "c"}, {axis = "w", tile = 14 : i64, unroll = -1 : i64}, {axis = "f", tile = 32 : i64, vectorize}]
func.func @few_filters(%x: tensor<1x58x58x16xf32>, %w: tensor<3x3x16x64xf32>, %y: tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32> {
  %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>, loop.dims = ["n", "h", "w", "f", "r", "s", "c"]} ins(%x, %w : tensor<1x58x58x16xf32>, tensor<3x3x16x64xf32>) outs(%y : tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32>
  return %0 : tensor<1x56x56x64xf32>
}

// Many filters: a panel of them is copied for all pixels, with as much of K as the caches hold. Every other
// pixel of 512 channels is 4 KiB further, where lines share a set of the cache: at most eight rows.

// CHECK-LABEL: func.func @many_filters
// CHECK: loop.schedule = [{axis = "f", parallelize}, {axis = "r", pack = array<i64: 1>}, {axis = "h"}, {axis = "w"}, {axis = "s"}, {axis = "c"}, {axis = "w", tile = 7 : i64, unroll = -1 : i64}, {axis = "f", tile = 32 : i64, vectorize}]
func.func @many_filters(%x: tensor<1x29x29x512xf32>, %w: tensor<3x3x512x256xf32>, %y: tensor<1x14x14x256xf32>) -> tensor<1x14x14x256xf32> {
  %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>, loop.dims = ["n", "h", "w", "f", "r", "s", "c"]} ins(%x, %w : tensor<1x29x29x512xf32>, tensor<3x3x512x256xf32>) outs(%y : tensor<1x14x14x256xf32>) -> tensor<1x14x14x256xf32>
  return %0 : tensor<1x14x14x256xf32>
}

// Each channel has a separate window: vectors are along the channels.

// CHECK-LABEL: func.func @depthwise
// CHECK: loop.schedule = [{axis = "h", parallelize}, {axis = "w"}, {axis = "c"}, {axis = "r"}, {axis = "s", unroll = -1 : i64}, {axis = "w", tile = 8 : i64, unroll = -1 : i64}, {axis = "c", tile = 16 : i64, vectorize}]
// AVX2-LABEL: func.func @depthwise
// AVX2: loop.schedule = [{axis = "h"}, {axis = "w"}, {axis = "c"}, {axis = "r"}, {axis = "s", unroll = -1 : i64}, {axis = "w", tile = 8 : i64, unroll = -1 : i64}, {axis = "c", tile = 8 : i64, vectorize}]
func.func @depthwise(%x: tensor<1x58x58x128xf32>, %w: tensor<3x3x128xf32>, %y: tensor<1x56x56x128xf32>) -> tensor<1x56x56x128xf32> {
  %0 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>, loop.dims = ["n", "h", "w", "c", "r", "s"]} ins(%x, %w : tensor<1x58x58x128xf32>, tensor<3x3x128xf32>) outs(%y : tensor<1x56x56x128xf32>) -> tensor<1x56x56x128xf32>
  return %0 : tensor<1x56x56x128xf32>
}

// All filters would fill the first-level cache: those of some channels serve a row of positions.

// CHECK-LABEL: func.func @wide_depthwise
// CHECK: loop.schedule = [{axis = "h"}, {axis = "c"}, {axis = "r"}, {axis = "s", unroll = -1 : i64}, {axis = "w", unroll = -1 : i64}, {axis = "c", tile = 16 : i64, vectorize}]
func.func @wide_depthwise(%x: tensor<1x9x9x1024xf32>, %w: tensor<3x3x1024xf32>, %y: tensor<1x7x7x1024xf32>) -> tensor<1x7x7x1024xf32> {
  %0 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>, loop.dims = ["n", "h", "w", "c", "r", "s"]} ins(%x, %w : tensor<1x9x9x1024xf32>, tensor<3x3x1024xf32>) outs(%y : tensor<1x7x7x1024xf32>) -> tensor<1x7x7x1024xf32>
  return %0 : tensor<1x7x7x1024xf32>
}

// Few channels are one vector; seven positions have no remainder, where eight do.

// CHECK-LABEL: func.func @narrow_depthwise
// CHECK: loop.schedule = [{axis = "h", parallelize}, {axis = "w"}, {axis = "r"}, {axis = "s", unroll = -1 : i64}, {axis = "w", tile = 8 : i64, unroll = -1 : i64}, {axis = "c", vectorize}]
func.func @narrow_depthwise(%x: tensor<1x114x114x16xf32>, %w: tensor<3x3x16xf32>, %y: tensor<1x112x112x16xf32>) -> tensor<1x112x112x16xf32> {
  %0 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>, loop.dims = ["n", "h", "w", "c", "r", "s"]} ins(%x, %w : tensor<1x114x114x16xf32>, tensor<3x3x16xf32>) outs(%y : tensor<1x112x112x16xf32>) -> tensor<1x112x112x16xf32>
  return %0 : tensor<1x112x112x16xf32>
}

// CHECK-LABEL: func.func @odd_depthwise
// CHECK: loop.schedule = [{axis = "h"}, {axis = "w"}, {axis = "c"}, {axis = "r"}, {axis = "s", unroll = -1 : i64}, {axis = "w", tile = 7 : i64, unroll = -1 : i64}, {axis = "c", tile = 16 : i64, vectorize}]
func.func @odd_depthwise(%x: tensor<1x30x30x96xf32>, %w: tensor<3x3x96xf32>, %y: tensor<1x28x28x96xf32>) -> tensor<1x28x28x96xf32> {
  %0 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>, loop.dims = ["n", "h", "w", "c", "r", "s"]} ins(%x, %w : tensor<1x30x30x96xf32>, tensor<3x3x96xf32>) outs(%y : tensor<1x28x28x96xf32>) -> tensor<1x28x28x96xf32>
  return %0 : tensor<1x28x28x96xf32>
}

// The groups of a row of pixels follow each other, as they share what is fetched.

// CHECK-LABEL: func.func @groups
// CHECK: loop.schedule = [{axis = "h"}, {axis = "g"}, {axis = "r"}, {axis = "s"}, {axis = "c"}, {axis = "w", unroll = -1 : i64}, {axis = "f", vectorize}]
func.func @groups(%x: tensor<1x9x9x8x16xf32>, %w: tensor<3x3x16x8x16xf32>, %y: tensor<1x7x7x8x16xf32>) -> tensor<1x7x7x8x16xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(n, h, w, g, f, r, s, c) -> (n, h + r, w + s, g, c)>,
                                        affine_map<(n, h, w, g, f, r, s, c) -> (r, s, c, g, f)>,
                                        affine_map<(n, h, w, g, f, r, s, c) -> (n, h, w, g, f)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"],
                       loop.dims = ["n", "h", "w", "g", "f", "r", "s", "c"]}
    ins(%x, %w : tensor<1x9x9x8x16xf32>, tensor<3x3x16x8x16xf32>) outs(%y : tensor<1x7x7x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    linalg.yield %sum : f32
  } -> tensor<1x7x7x8x16xf32>
  return %0 : tensor<1x7x7x8x16xf32>
}

// CHECK-LABEL: func.func @pool
// CHECK: loop.schedule = [{axis = "c"}, {axis = "r"}, {axis = "s", unroll = -1 : i64}, {axis = "c", tile = 128 : i64, vectorize}]
func.func @pool(%x: tensor<1x7x7x512xf32>, %w: tensor<7x7xf32>, %y: tensor<1x1x1x512xf32>) -> tensor<1x1x1x512xf32> {
  %0 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>, loop.dims = ["n", "h", "w", "c", "r", "s"]} ins(%x, %w : tensor<1x7x7x512xf32>, tensor<7x7xf32>) outs(%y : tensor<1x1x1x512xf32>) -> tensor<1x1x1x512xf32>
  return %0 : tensor<1x1x1x512xf32>
}

// Loops that have no name get one.
// CHECK-LABEL: func.func @unnamed
// CHECK: loop.dims = ["i", "j", "d2"], loop.schedule = [{axis = "j"
// CHECK-SAME: {axis = "d2"}
func.func @unnamed(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j"]} ins(%a, %b : tensor<256x256xf32>, tensor<256x256xf32>) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}

// A panel that is computed from fewer bytes is computed in the loop that reads it: of one row in
// vectors, of many rows in blocks.

// CHECK-LABEL: func.func @narrow_row
// CHECK: linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = [{axis = "j", parallelize}, {axis = "k", fuse = array<i64: 1>}, {axis = "k", tile = 16 : i64}, {axis = "j", tile = 128 : i64, vectorize}]}
// CHECK-LABEL: func.func @narrow_rows
// CHECK: linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = [{axis = "j", parallelize}, {axis = "k", fuse = array<i64: 1>},
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @narrow_row(%a: tensor<1x2048xf32>, %q: tensor<2048x4096xi8>, %c: tensor<1x4096xf32>) -> tensor<1x4096xf32> {
  %e = tensor.empty() : tensor<2048x4096xf32>
  %w = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<2048x4096xi8>) outs(%e : tensor<2048x4096xf32>) {
  ^bb0(%in: i8, %out: f32):
    %number = arith.sitofp %in : i8 to f32
    linalg.yield %number : f32
  } -> tensor<2048x4096xf32>
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %w : tensor<1x2048xf32>, tensor<2048x4096xf32>) outs(%c : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  return %0 : tensor<1x4096xf32>
}
func.func @narrow_rows(%a: tensor<64x2048xf32>, %q: tensor<2048x4096xi8>, %c: tensor<64x4096xf32>) -> tensor<64x4096xf32> {
  %e = tensor.empty() : tensor<2048x4096xf32>
  %w = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<2048x4096xi8>) outs(%e : tensor<2048x4096xf32>) {
  ^bb0(%in: i8, %out: f32):
    %number = arith.sitofp %in : i8 to f32
    linalg.yield %number : f32
  } -> tensor<2048x4096xf32>
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %w : tensor<64x2048xf32>, tensor<2048x4096xf32>) outs(%c : tensor<64x4096xf32>) -> tensor<64x4096xf32>
  return %0 : tensor<64x4096xf32>
}
