// RUN: xtc-opt %s --relax-reductions | FileCheck %s

// Elements of the result that are reduced from many, in one dimension or several.

// CHECK-LABEL: func.func @sums
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
#row = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
#columns = affine_map<(i, j) -> (j)>
#one = affine_map<(i, j) -> ()>
func.func @sums(%a: tensor<8x128xf32>, %s: tensor<8xf32>, %b: tensor<100x32xf32>, %t: tensor<f32>)
    -> (tensor<8xf32>, tensor<f32>) {
  %0 = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<8x128xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%x: f32, %total: f32):
    %new = arith.addf %total, %x : f32
    linalg.yield %new : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#row, #one], iterator_types = ["reduction", "reduction"]}
      ins(%b : tensor<100x32xf32>) outs(%t : tensor<f32>) {
  ^bb0(%x: f32, %total: f32):
    %new = arith.addf %total, %x : f32
    linalg.yield %new : f32
  } -> tensor<f32>
  return %0, %1 : tensor<8xf32>, tensor<f32>
}

// For short rows a maximum loses only the sign of zero; the new operand comes first.

// CHECK-LABEL: func.func @maxima
// CHECK: ^bb0(%[[X:.*]]: f32, %[[TOTAL:.*]]: f32):
// CHECK: arith.maximumf %[[X]], %[[TOTAL]] fastmath<nsz> : f32
func.func @maxima(%a: tensor<8x5xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<8x5xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%x: f32, %total: f32):
    %new = arith.maximumf %total, %x : f32
    linalg.yield %new : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Unchanged: rows of few elements, sums across rows, which are vectorized anyway, and operations with
// a schedule.

// CHECK-LABEL: func.func @in_order
// CHECK-NOT: fastmath
// CHECK: return
func.func @in_order(%a: tensor<8x127xf32>, %s: tensor<8xf32>, %b: tensor<200x16xf32>,
                    %t: tensor<16xf32>, %c: tensor<8x128xf32>)
    -> (tensor<8xf32>, tensor<16xf32>, tensor<8xf32>) {
  %0 = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<8x127xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%x: f32, %total: f32):
    %new = arith.addf %total, %x : f32
    linalg.yield %new : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#row, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%b : tensor<200x16xf32>) outs(%t : tensor<16xf32>) {
  ^bb0(%x: f32, %total: f32):
    %new = arith.addf %total, %x : f32
    linalg.yield %new : f32
  } -> tensor<16xf32>
  %2 = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"],
                       loop.dims = ["i", "j"], loop.schedule = ["i", "j"]}
      ins(%c : tensor<8x128xf32>) outs(%s : tensor<8xf32>) {
  ^bb0(%x: f32, %total: f32):
    %new = arith.addf %total, %x : f32
    linalg.yield %new : f32
  } -> tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<16xf32>, tensor<8xf32>
}
