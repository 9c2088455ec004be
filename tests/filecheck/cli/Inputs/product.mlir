// SPDX-License-Identifier: Apache-2.0
// A matmul on buffers; the schedule leaves a remainder of two rows and one of five columns.
func.func @product(%a: memref<30x64xf32>, %b: memref<64x37xf32>, %c: memref<30x37xf32>) {
  linalg.matmul {
    loop.dims = ["i", "j", "k"],
    loop.schedule = {
      "j",
        "i",
          "k",
            "i#4" = {"unroll"},
              "j#16" = {"vectorize"}
    }
  } ins(%a, %b : memref<30x64xf32>, memref<64x37xf32>) outs(%c : memref<30x37xf32>)
  return
}
