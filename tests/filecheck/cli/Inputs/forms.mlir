// SPDX-License-Identifier: Apache-2.0
// Every form of a schedule: a dictionary, with segments; text; a list of texts.

func.func @chain(%a: tensor<12x8xf32>, %b: tensor<8x20xf32>) -> tensor<12x20xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<12x8xf32>
  %1 = linalg.exp ins(%a : tensor<12x8xf32>) outs(%0 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %2 = tensor.empty() : tensor<12x20xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<12x20xf32>) -> tensor<12x20xf32>
  %4 = linalg.matmul {
    loop.dims = ["i", "j", "k"],
    loop.schedule = {
      "i" = {"parallelize", "buffer", "pack" = 1, "fuse" = [0]},  // one thread for four rows
        "j", "k",
          "i#4" = {"unroll" = 2 : i64}
    }
  } ins(%1, %b : tensor<12x8xf32>, tensor<8x20xf32>) outs(%3 : tensor<12x20xf32>) -> tensor<12x20xf32>
  return %4 : tensor<12x20xf32>
}

func.func @rows(%x: memref<5x6xf32>, %y: memref<5x6xf32>, %z: memref<5x6xf32>) {
  linalg.exp {loop.dims = ["i", "j"], loop.schedule = {"i[0:2]" = {"i", "j"}, "i[2:]" = {"i", "j" = {"vectorize"}}}}
    ins(%x : memref<5x6xf32>) outs(%y : memref<5x6xf32>)
  linalg.exp {loop.dims = ["i", "j"], loop.schedule = "{j: {unroll: 3}, i: {}}"}
    ins(%y : memref<5x6xf32>) outs(%y : memref<5x6xf32>)
  linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
    ins(%y : memref<5x6xf32>) outs(%z : memref<5x6xf32>)
    attrs = {loop.dims = ["r", "c"], loop.schedule = ["c", "r", "c#2=unroll"]} {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %out : f32
      linalg.yield %0 : f32
  }
  return
}

func.func @named(%x: memref<1x8x8x4xf64>, %w: memref<2x2xf64>, %p: memref<1x4x4x4xf64>,
                 %r: memref<1x4x4xf64>, %t: memref<4x4x1xf64>) {
  %low = arith.constant -1.0e9 : f64
  linalg.fill {loop.dims = ["n", "h", "w", "c"], loop.schedule = {"w", "n", "h", "c" = {"vectorize"}}}
    ins(%low : f64) outs(%p : memref<1x4x4x4xf64>)
  linalg.pooling_nhwc_max {
    dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>,
    loop.dims = ["n", "h", "w", "c", "r", "s"],
    loop.schedule = {"h", "n", "w", "r", "s", "w#3" = {"unroll"}, "c" = {"vectorize"}}
  } ins(%x, %w : memref<1x8x8x4xf64>, memref<2x2xf64>) outs(%p : memref<1x4x4x4xf64>)
  linalg.reduce { arith.addf } ins(%p : memref<1x4x4x4xf64>) outs(%r : memref<1x4x4xf64>)
    dimensions = [3] {loop.dims = ["n", "h", "w", "c"], loop.schedule = {"h", "c", "n", "w" = {"vectorize"}}}
  linalg.transpose ins(%r : memref<1x4x4xf64>) outs(%t : memref<4x4x1xf64>)
    permutation = [2, 1, 0] {loop.dims = ["w", "h", "n"], loop.schedule = {"h", "n", "w" = {"unroll"}}}
  return
}

func.func @plain(%x: memref<4xf32>) {
  linalg.exp ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}
