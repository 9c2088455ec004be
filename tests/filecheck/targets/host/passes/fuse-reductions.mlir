// RUN: xtc-opt %s --fuse-reductions | FileCheck %s

#row = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @softmax
// CHECK-SAME: %[[X:.*]]: tensor<4x256xf32>, %[[MAX:.*]]: tensor<4xf32>, %[[E:.*]]: tensor<4x256xf32>
// CHECK-SAME: %[[ZERO:.*]]: tensor<4xf32>
// CHECK: %[[BOTH:.*]]:2 = linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK-SAME: ins(%[[X]], %[[MAX]] : {{.*}}) outs(%[[E]], %[[ZERO]] : {{.*}}) attrs = {__xtc_id_exp_, __xtc_id_sum_}
// CHECK: %[[POWER:.*]] = math.exp
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[POWER]] fastmath<reassoc> : f32
// CHECK: linalg.yield %[[POWER]], %[[SUM]] : f32, f32
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func @softmax(%x: tensor<4x256xf32>, %max: tensor<4xf32>, %to: tensor<4x256xf32>,
                   %zero: tensor<4xf32>) -> (tensor<4x256xf32>, tensor<4xf32>) {
  %e = linalg.generic {indexing_maps = [#row, #rows, #row],
                       iterator_types = ["parallel", "parallel"], __xtc_id_exp_}
      ins(%x, %max : tensor<4x256xf32>, tensor<4xf32>) outs(%to : tensor<4x256xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %d = arith.subf %a, %b : f32
    %p = math.exp %d : f32
    linalg.yield %p : f32
  } -> tensor<4x256xf32>
  %s = linalg.generic {indexing_maps = [#row, #rows],
                       iterator_types = ["parallel", "reduction"], __xtc_id_sum_}
      ins(%e : tensor<4x256xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%a: f32, %total: f32):
    %new = arith.addf %total, %a fastmath<reassoc> : f32
    linalg.yield %new : f32
  } -> tensor<4xf32>
  return %e, %s : tensor<4x256xf32>, tensor<4xf32>
}

// The overwritten operand is read before it is overwritten, so that no copy of it is needed.

// CHECK-LABEL: func.func @overwritten
// CHECK-SAME: %[[X:.*]]: tensor<4x256xf32>
// CHECK: linalg.generic {{.*}} outs(%[[X]], %{{.*}} : tensor<4x256xf32>, tensor<4xf32>)
// CHECK: ^bb0(%[[OLD:.*]]: f32, %{{.*}}: f32):
// CHECK: math.exp %[[OLD]]
func.func @overwritten(%x: tensor<4x256xf32>, %zero: tensor<4xf32>)
    -> (tensor<4x256xf32>, tensor<4xf32>) {
  %e = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x256xf32>) outs(%x : tensor<4x256xf32>) {
  ^bb0(%a: f32, %old: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<4x256xf32>
  %s = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<4x256xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%a: f32, %total: f32):
    %new = arith.addf %total, %a fastmath<reassoc> : f32
    linalg.yield %new : f32
  } -> tensor<4xf32>
  return %e, %s : tensor<4x256xf32>, tensor<4xf32>
}

// A sum in order would prevent vectorization of the exponentials.

// CHECK-LABEL: func.func @in_order
// CHECK-COUNT-2: linalg.generic
func.func @in_order(%x: tensor<4x256xf32>, %to: tensor<4x256xf32>, %zero: tensor<4xf32>)
    -> (tensor<4x256xf32>, tensor<4xf32>) {
  %e = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x256xf32>) outs(%to : tensor<4x256xf32>) {
  ^bb0(%a: f32, %old: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<4x256xf32>
  %s = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<4x256xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%a: f32, %total: f32):
    %new = arith.addf %total, %a : f32
    linalg.yield %new : f32
  } -> tensor<4xf32>
  return %e, %s : tensor<4x256xf32>, tensor<4xf32>
}

// A reader of the elements that precedes the sum would have to precede the producer as well.

// CHECK-LABEL: func.func @read_before
// CHECK: linalg.generic
// CHECK: tensor.extract
// CHECK: linalg.generic
func.func @read_before(%x: tensor<4x256xf32>, %to: tensor<4x256xf32>, %i: index)
    -> (tensor<4x256xf32>, tensor<4xf32>) {
  %e = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x256xf32>) outs(%to : tensor<4x256xf32>) {
  ^bb0(%a: f32, %old: f32):
    %p = math.exp %a : f32
    linalg.yield %p : f32
  } -> tensor<4x256xf32>
  %first = tensor.extract %e[%i, %i] : tensor<4x256xf32>
  %start = tensor.splat %first : tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<4x256xf32>) outs(%start : tensor<4xf32>) {
  ^bb0(%a: f32, %total: f32):
    %new = arith.addf %total, %a fastmath<reassoc> : f32
    linalg.yield %new : f32
  } -> tensor<4xf32>
  return %e, %s : tensor<4x256xf32>, tensor<4xf32>
}
