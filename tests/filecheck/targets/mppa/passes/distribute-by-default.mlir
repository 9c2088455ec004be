// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-by-default --canonicalize --cse | FileCheck %s
// RUN: xtc-opt %s --distribute-by-default='smem-bytes=256' --canonicalize --cse | FileCheck %s --check-prefix=DDR

#id = affine_map<(i, j) -> (i, j)>

// Five clusters have 104 rows each, the last one fewer; each sums strips of 32, 16 PEs at a time.

// CHECK-LABEL: func.func @product
// CHECK:       %[[OUT:.*]] = tensor.empty() : tensor<512x512xf32>
// CHECK:       scf.forall (%[[C:.*]]) in (5) shared_outs(%[[R:.*]] = %[[OUT]])
// CHECK:         %[[I:.*]] = affine.apply #{{.*}}(%[[C]])
// CHECK:         %[[ROWS:.*]] = affine.min #{{.*}}(%[[C]])
// CHECK:         bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<104x512xf32>
// CHECK:         %[[ZERO:.*]] = scf.forall (%{{.*}}) in (16)
// CHECK:           linalg.fill {{.*}} outs(%{{.*}} : tensor<52x64xf32>)
// CHECK:         } {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK:         %[[SUM:.*]] = scf.for %[[K:.*]] = %c0 to %c512 step %c32 iter_args(%[[T:.*]] = %[[ZERO]])
// CHECK:           tensor.extract_slice %arg0[%[[I]], %[[K]]] [%[[ROWS]], 32] [1, 1]
// CHECK:           bufferization.alloc_tensor() {memory_space = 2 : i64} : tensor<104x32xf32>
// CHECK:           %[[A:.*]] = tensor.insert_slice
// CHECK:           %[[PART:.*]] = tensor.extract_slice %arg1[%[[K]], 0] [32, 512] [1, 1]
// CHECK:           %[[B:.*]] = bufferization.alloc_tensor() copy(%[[PART]]) {memory_space = 2 : i64}
// CHECK:           scf.forall (%{{.*}}) in (16) shared_outs(%{{.*}} = %[[T]])
// CHECK:             linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<52x32xf32>, tensor<32x64xf32>)
// CHECK:         tensor.insert_slice %{{.*}} into %[[R]][%[[I]], 0] [%[[ROWS]], 512] [1, 1]
// CHECK:       } {mapping = [#gpu.block<linear_dim_0>]}

// If no tile fits, each PE computes every 80th element, in DDR.

// DDR-LABEL: func.func @product
// DDR:       scf.forall (%[[C:.*]]) in (5)
// DDR:         scf.forall (%[[P:.*]]) in (16)
// DDR:           scf.for %{{.*}} = %{{.*}} to %c262144 step %c80
// DDR:             linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<1x512xf32>, tensor<512x1xf32>)
func.func @product(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = linalg.matmul ins(%a, %b : tensor<512x512xf32>, tensor<512x512xf32>)
      outs(%i : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %p : tensor<512x512xf32>
}

// Data movement uses no PE; a padded tensor is written to its destination.

// CHECK-LABEL: func.func @padded
// CHECK:       %[[ZEROS:.*]] = scf.forall {{.*}} -> (tensor<6x40xf32>)
// CHECK:         linalg.fill
// CHECK:       } {mapping = [#gpu.block<linear_dim_0>]}
// CHECK-NEXT:  {{.*}} = scf.forall (%[[C:.*]]) in (5) shared_outs(%[[R:.*]] = %[[ZEROS]])
// CHECK:         %[[J:.*]] = affine.apply #{{.*}}(%[[C]])
// CHECK-NEXT:    %[[PART:.*]] = tensor.extract_slice %arg0[0, %[[J]]] [4, 8] [1, 1]
// CHECK-NEXT:    %[[LOCAL:.*]] = bufferization.alloc_tensor() copy(%[[PART]]) {memory_space = 2 : i64}
// CHECK-NEXT:    {{.*}} = tensor.insert_slice %[[LOCAL]] into %[[R]][1, %[[J]]] [4, 8] [1, 1]
func.func @padded(%a: tensor<4x40xf32>) -> tensor<6x40xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x40xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6x40xf32>) -> tensor<6x40xf32>
  %r = tensor.insert_slice %a into %i[1, 0] [4, 40] [1, 1] : tensor<4x40xf32> into tensor<6x40xf32>
  return %r : tensor<6x40xf32>
}

// An operation that reads loop indices runs on one PE.

// CHECK-LABEL: func.func @counters
// CHECK:       scf.forall (%{{.*}}) in (1)
// CHECK:         scf.forall (%{{.*}}) in (1)
// CHECK:           linalg.generic {{.*}} outs(%{{.*}} : tensor<8xindex>)
func.func @counters() -> tensor<8xindex> {
  %e = tensor.empty() : tensor<8xindex>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%e : tensor<8xindex>) {
  ^bb0(%o: index):
    %n = linalg.index 0 : index
    linalg.yield %n : index
  } -> tensor<8xindex>
  return %r : tensor<8xindex>
}

// A result that is an argument is copied.

// CHECK-LABEL: func.func @same
// CHECK:       scf.forall
// CHECK:         bufferization.alloc_tensor() copy(
func.func @same(%a: tensor<16xf32>) -> tensor<16xf32> {
  return %a : tensor<16xf32>
}
