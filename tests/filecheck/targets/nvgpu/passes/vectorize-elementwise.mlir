// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --vectorize-elementwise | FileCheck %s
// RUN: xtc-opt %s --vectorize-elementwise{sms=1024} | FileCheck %s --check-prefix=BUSY

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// 16 bytes of the wider type; an operand with one element per row has the same element for a whole
// vector.
// CHECK-LABEL: func.func @sum(
// CHECK:       linalg.generic
// CHECK-SAME:    loop.dims = ["d0", "d1"]
// CHECK-SAME:    loop.schedule = [{axis = "d0", parallelize}, {axis = "d1", parallelize}, {axis = "d1", tile = 4 : i64, vectorize}]
// Each multiprocessor would have too few threads.
// BUSY-LABEL:  func.func @sum(
// BUSY-NOT:    loop.schedule
func.func @sum(%a: tensor<512x1024xf16>, %b: tensor<512xf32>, %r: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : tensor<512x1024xf16>, tensor<512xf32>) outs(%r : tensor<512x1024xf32>) {
  ^bb0(%x: f16, %y: f32, %z: f32):
    %w = arith.extf %x : f16 to f32
    %s = arith.addf %w, %y : f32
    linalg.yield %s : f32
  } -> tensor<512x1024xf32>
  return %0 : tensor<512x1024xf32>
}

// A row of one vector.
// CHECK-LABEL: func.func @short(
// CHECK:         loop.schedule = [{axis = "d0", parallelize}, {axis = "d1", vectorize}]
func.func @short(%a: tensor<65536x4xf32>, %r: tensor<65536x4xf32>) -> tensor<65536x4xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<65536x4xf32>) outs(%r : tensor<65536x4xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = math.exp %x : f32
    linalg.yield %s : f32
  } -> tensor<65536x4xf32>
  return %0 : tensor<65536x4xf32>
}

// Unchanged: rows that are not whole vectors; operands that are not contiguous; elements that are
// bits; sums.
// CHECK-NOT: loop.schedule
func.func @odd(%a: tensor<512x1023xf32>, %r: tensor<512x1023xf32>) -> tensor<512x1023xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<512x1023xf32>) outs(%r : tensor<512x1023xf32>) {
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  } -> tensor<512x1023xf32>
  return %0 : tensor<512x1023xf32>
}
func.func @turned(%a: tensor<1024x512xf32>, %r: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %0 = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<1024x512xf32>) outs(%r : tensor<512x1024xf32>) {
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  } -> tensor<512x1024xf32>
  return %0 : tensor<512x1024xf32>
}
func.func @bits(%a: tensor<512x1024xf32>, %r: tensor<512x1024xi1>) -> tensor<512x1024xi1> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<512x1024xf32>) outs(%r : tensor<512x1024xi1>) {
  ^bb0(%x: f32, %z: i1):
    %s = arith.cmpf ogt, %x, %x : f32
    linalg.yield %s : i1
  } -> tensor<512x1024xi1>
  return %0 : tensor<512x1024xi1>
}
func.func @rows(%a: tensor<512x1024xf32>, %r: tensor<512xf32>) -> tensor<512xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<512x1024xf32>) outs(%r : tensor<512xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %x, %z : f32
    linalg.yield %s : f32
  } -> tensor<512xf32>
  return %0 : tensor<512xf32>
}
