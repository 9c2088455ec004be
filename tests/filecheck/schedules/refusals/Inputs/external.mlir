// SPDX-License-Identifier: Apache-2.0
func.func @product(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.matmul {
    loop.dims = ["i", "j", "k"], loop.schedule = {"i" = {"external" = "f"}, "j", "k"}
  } ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
