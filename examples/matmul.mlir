// SPDX-License-Identifier: Apache-2.0
// A matmul with its schedule, for xtc-loop; docs/schedule.md describes the schedule language.
func.func @matmul(%a: memref<64x128xf32>, %b: memref<128x112xf32>, %c: memref<64x112xf32>) {
  linalg.matmul {
    loop.dims = ["i", "j", "k"],
    loop.schedule = {
      "j" = {"pack" = 1},
        "i",
          "k",
            "i#7" = {"unroll"},
              "j#32" = {"vectorize"}
    }
  } ins(%a, %b : memref<64x128xf32>, memref<128x112xf32>) outs(%c : memref<64x112xf32>)
  return
}
