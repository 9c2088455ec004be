// RUN: xtc-opt %s --expand-reductions | FileCheck %s

// Weights with a scale for each group are computed group by group: the contraction has a loop over
// groups, and reads them without the reshape. The other operand is a view.

// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1)>

// CHECK-LABEL: func.func @grouped
// CHECK:         %[[PARTS:.*]] = linalg.generic
// CHECK-NOT:     tensor.collapse_shape
// CHECK:         %[[VIEW:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [2, 4, 16]
// CHECK:         linalg.generic {indexing_maps = [#[[A]], #[[W]], #[[C]]], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
// CHECK-SAME:      ins(%[[VIEW]], %[[PARTS]]
// CHECK-SAME:      loop.dims = ["i", "j", "k0", "k"]
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
memref.global constant @codes : memref<4x16x8xi8>
func.func @grouped(%a: tensor<2x64xf32>, %c: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = memref.get_global @codes : memref<4x16x8xi8>
  %codes = bufferization.to_tensor %0 restrict : memref<4x16x8xi8> to tensor<4x16x8xi8>
  %e = tensor.empty() : tensor<4x16x8xf32>
  %parts = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%codes : tensor<4x16x8xi8>) outs(%e : tensor<4x16x8xf32>) {
  ^bb0(%code: i8, %out: f32):
    %number = arith.sitofp %code : i8 to f32
    linalg.yield %number : f32
  } -> tensor<4x16x8xf32>
  %w = tensor.collapse_shape %parts [[0, 1], [2]] : tensor<4x16x8xf32> into tensor<64x8xf32>
  %r = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %w : tensor<2x64xf32>, tensor<64x8xf32>) outs(%c : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// A value that depends on an argument may be cheaper to compute once; it is unchanged.

// CHECK-LABEL: func.func @computed
// CHECK:         tensor.collapse_shape
// CHECK:         linalg.matmul
func.func @computed(%b: tensor<4x16x8xf32>, %a: tensor<2x64xf32>, %c: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %e = tensor.empty() : tensor<4x16x8xf32>
  %parts = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%b : tensor<4x16x8xf32>) outs(%e : tensor<4x16x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %number = math.exp %in : f32
    linalg.yield %number : f32
  } -> tensor<4x16x8xf32>
  %w = tensor.collapse_shape %parts [[0, 1], [2]] : tensor<4x16x8xf32> into tensor<64x8xf32>
  %r = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %w : tensor<2x64xf32>, tensor<64x8xf32>) outs(%c : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}
