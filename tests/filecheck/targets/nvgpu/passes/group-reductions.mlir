// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --group-reductions | FileCheck %s

#in = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @sum(
// CHECK:       %[[E:.*]] = tensor.empty() {xtc.kernel = 0 : i64}
// CHECK:       %[[Z:.*]] = linalg.fill {xtc.kernel = 0 : i64} ins(%{{.*}}) outs(%[[E]]
// CHECK-NEXT:  linalg.generic {{.*}} outs(%[[Z]] : tensor<8xf32>) attrs = {nvgpu.reduction, xtc.kernel = 0 : i64}
func.func @sum(%a: tensor<8x40xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<8x40xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%x: f32, %t: f32):
    %u = arith.addf %t, %x : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// Alone: a sum that begins with something else, and one with a schedule of the user's.
// CHECK-LABEL: func.func @begun(
// CHECK-NOT:   xtc.kernel
func.func @begun(%a: tensor<8x40xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %s = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<8x40xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%x: f32, %t: f32):
    %u = arith.addf %t, %x : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}
func.func @scheduled(%a: tensor<8x40xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<8x40xf32>) outs(%z : tensor<8xf32>) attrs = {loop.schedule} {
  ^bb0(%x: f32, %t: f32):
    %u = arith.addf %t, %x : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// An elementwise operation on the sum joins it, also if it permutes dimensions; one that reads an
// element several times does not.
// CHECK-LABEL: func.func @epilogue(
// CHECK:       %[[Z:.*]] = linalg.fill {xtc.kernel = 0 : i64}
// CHECK-NEXT:  %[[S:.*]] = linalg.generic {{.*}} outs(%[[Z]] : tensor<8x4xf32>) attrs = {nvgpu.reduction, xtc.kernel = 0 : i64}
// CHECK:       linalg.generic {{.*}} ins(%[[S]], %arg1 : tensor<8x4xf32>, tensor<4x8xf32>) {{.*}} attrs = {nvgpu.reduction, xtc.kernel = 0 : i64}
func.func @epilogue(%a: tensor<8x4x40xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>],
       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a : tensor<8x4x40xf32>) outs(%z : tensor<8x4xf32>) {
  ^bb0(%x: f32, %t: f32):
    %u = arith.addf %t, %x : f32
    linalg.yield %u : f32
  } -> tensor<8x4xf32>
  %o = tensor.empty() : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (j, i)>, affine_map<(j, i) -> (j, i)>],
       iterator_types = ["parallel", "parallel"]}
    ins(%s, %b : tensor<8x4xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %t: f32):
    %u = arith.addf %x, %y : f32
    linalg.yield %u : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @broadcast(
// CHECK:       linalg.generic {{.*}} attrs = {nvgpu.reduction, xtc.kernel = 0 : i64}
// CHECK:       linalg.generic
// CHECK-NOT:   xtc.kernel
// CHECK:       return
func.func @broadcast(%a: tensor<8x40xf32>) -> tensor<8x40xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#in, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<8x40xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%x: f32, %t: f32):
    %u = arith.addf %t, %x : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %o = tensor.empty() : tensor<8x40xf32>
  %r = linalg.generic {indexing_maps = [#in, #row, #in], iterator_types = ["parallel", "parallel"]}
    ins(%a, %s : tensor<8x40xf32>, tensor<8xf32>) outs(%o : tensor<8x40xf32>) {
  ^bb0(%x: f32, %y: f32, %t: f32):
    %u = arith.divf %x, %y : f32
    linalg.yield %u : f32
  } -> tensor<8x40xf32>
  return %r : tensor<8x40xf32>
}

// The elements may be gathered by the values of indices.
// CHECK-LABEL: func.func @gathered(
// CHECK:       linalg.fill {xtc.kernel = 0 : i64}
// CHECK-NEXT:  linalg.generic {{.*}} attrs = {nvgpu.reduction, xtc.kernel = 0 : i64}
func.func @gathered(%a: tensor<9x8xf32>, %at: tensor<6x2xindex>) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>],
       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%at : tensor<6x2xindex>) outs(%z : tensor<6x8xf32>) {
  ^bb0(%x: index, %t: f32):
    %j = linalg.index 1 : index
    %v = tensor.extract %a[%x, %j] : tensor<9x8xf32>
    %u = arith.addf %t, %v : f32
    linalg.yield %u : f32
  } -> tensor<6x8xf32>
  return %s : tensor<6x8xf32>
}
