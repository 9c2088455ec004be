// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s "--fuse-rows{parallel=true}" | FileCheck %s --check-prefix=PARALLEL
// RUN: xtc-opt %s --fuse-rows --canonicalize | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>

// Eight rows of the matmul are summed and clipped in the result itself; b is read whole.

// CHECK-LABEL: func.func @relu_of_product
// CHECK:       scf.for %[[I:.*]] = %c0 to %c64 step %c8 iter_args(%[[OUT:.*]] = %{{.*}})
// CHECK:         %[[ROWS:.*]] = tensor.extract_slice %[[OUT]][%[[I]], 0] [8, 32] [1, 1]
// CHECK:         %[[ZERO:.*]] = linalg.fill {{.*}} outs(%[[ROWS]] : tensor<8x32xf32>)
// CHECK:         %[[A:.*]] = tensor.extract_slice %arg0[%[[I]], 0] [8, 16] [1, 1]
// CHECK:         %[[P:.*]] = linalg.matmul {__xtc_id_p_, loop.dims = ["i", "j", "k"]}
// CHECK-SAME:      ins(%[[A]], %arg1 : tensor<8x16xf32>, tensor<16x32xf32>) outs(%[[ZERO]]
// CHECK:         linalg.generic {{.*}} ins(%[[P]] : tensor<8x32xf32>) outs(%[[P]] : tensor<8x32xf32>)
// CHECK:         tensor.insert_slice {{.*}} into %[[OUT]][%[[I]], 0] [8, 32] [1, 1]
func.func @relu_of_product(%a: tensor<64x16xf32>, %b: tensor<16x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %p = linalg.matmul {__xtc_id_p_, loop.dims = ["i", "j", "k"]}
      ins(%a, %b : tensor<64x16xf32>, tensor<16x32xf32>) outs(%i : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"], __xtc_id_r_}
      ins(%p : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.maximumf %x, %zero : f32
    linalg.yield %y : f32
  } -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}

// The matmul has two readers, one of them outside of the loop.

// CHECK-LABEL: func.func @two_readers
// CHECK:       %[[P:.*]] = scf.for
// CHECK:         linalg.matmul
// CHECK:       scf.yield
// CHECK:       linalg.generic {{.*}} ins(%[[P]] : tensor<64x32xf32>)
// CHECK:       return %[[P]]
func.func @two_readers(%a: tensor<64x16xf32>, %b: tensor<16x32xf32>)
    -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %p = linalg.matmul
      ins(%a, %b : tensor<64x16xf32>, tensor<16x32xf32>) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.maximumf %x, %zero : f32
    linalg.yield %y : f32
  } -> tensor<64x32xf32>
  return %p, %r : tensor<64x32xf32>, tensor<64x32xf32>
}

// Eight does not divide the rows: the remainder has separate code.

// CHECK-LABEL: func.func @remainder
// CHECK:       %[[MAIN:.*]] = scf.for {{.*}} to %c64 step %c8
// CHECK:         linalg.matmul ins(%{{.*}}, %arg1 : tensor<8x16xf32>
// CHECK:       %[[LAST:.*]] = tensor.extract_slice %[[MAIN]][64, 0] [3, 32] [1, 1]
// CHECK:       linalg.matmul ins(%{{.*}}, %arg1 : tensor<3x16xf32>, tensor<16x32xf32>) outs(%[[LAST]]
// CHECK:       tensor.insert_slice {{.*}} into %[[MAIN]][64, 0] [3, 32] [1, 1]
func.func @remainder(%a: tensor<67x16xf32>, %b: tensor<16x32xf32>, %c: tensor<67x32xf32>) -> tensor<67x32xf32> {
  %p = linalg.matmul
      ins(%a, %b : tensor<67x16xf32>, tensor<16x32xf32>) outs(%c : tensor<67x32xf32>) -> tensor<67x32xf32>
  return %p : tensor<67x32xf32>
}

// A user's schedule applies to its operation.

// CHECK-LABEL: func.func @scheduled
// CHECK-NOT:   scf.for
func.func @scheduled(%a: tensor<64x16xf32>, %b: tensor<16x32xf32>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %p = linalg.matmul {loop.schedule = "{i: {}, j: {}, k: {}}"}
      ins(%a, %b : tensor<64x16xf32>, tensor<16x32xf32>) outs(%c : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %p : tensor<64x32xf32>
}

// Threads share the tiles of a large group; a single large operation is tiled for them, too.

// PARALLEL-LABEL: func.func @large
// PARALLEL: scf.forall (%[[I:.*]]) in (32) shared_outs
// PARALLEL: arith.muli %[[I]], %c8192 : index
// PARALLEL: linalg.generic
// PARALLEL: tensor.parallel_insert_slice
// CHECK-LABEL: func.func @large
// CHECK-NOT: scf.for
func.func @large(%a: tensor<262144xf32>, %b: tensor<262144xf32>) -> tensor<262144xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<262144xf32>) outs(%b : tensor<262144xf32>) {
  ^bb0(%x: f32, %y: f32):
    %1 = math.exp %x : f32
    linalg.yield %1 : f32
  } -> tensor<262144xf32>
  return %0 : tensor<262144xf32>
}

// Two members read the same 128 KiB: with a few rows at a time, memory is read once.

// CHECK-LABEL: func.func @read_again
// CHECK:       scf.for %{{.*}} = %c0 to %c64 step %c8
// CHECK-COUNT-2: tensor.extract_slice %arg0
#rows = affine_map<(i, j) -> (i)>
func.func @read_again(%a: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %o = tensor.empty() : tensor<64x512xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<64x512xf32>) outs(%i : tensor<64xf32>) {
  ^bb0(%x: f32, %t: f32):
    %y = arith.addf %t, %x fastmath<reassoc> : f32
    linalg.yield %y : f32
  } -> tensor<64xf32>
  %r = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : tensor<64x512xf32>, tensor<64xf32>) outs(%o : tensor<64x512xf32>) {
  ^bb0(%x: f32, %t: f32, %old: f32):
    %y = arith.subf %x, %t : f32
    linalg.yield %y : f32
  } -> tensor<64x512xf32>
  return %r : tensor<64x512xf32>
}
