// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-schedules --canonicalize --cse | FileCheck %s

shard.grid @memory_mesh(shape = 1x5) {xtc.axes = ["mx", "my"]}
shard.grid @processor_mesh(shape = 1x5x2x8) {xtc.axes = ["px", "py", "psx", "psy"], xtc.memory = @memory_mesh}

// CHECK: shard.grid @processor_mesh

// One cluster copies b to its SMEM for all its PEs; j has one column for each PE of a row.

// CHECK-LABEL: func.func @on_one_cluster
// CHECK:       scf.forall (%{{.*}}) in (1) shared_outs(%[[R:.*]] = %arg2)
// CHECK:         %[[B:.*]] = bufferization.alloc_tensor() copy(%arg1) {memory_space = 2 : i64}
// CHECK:         scf.forall (%[[I:.*]], %[[J:.*]]) in (2, 8) shared_outs(%{{.*}} = %[[R]])
// CHECK:           tensor.extract_slice %[[B]][0, %[[J]]] [16, 1] [1, 1]
// CHECK:           scf.for
// CHECK:           } {"./k"}
// CHECK:         } {"./i", "./j", mapping = [#gpu.thread<linear_dim_1>, #gpu.thread<linear_dim_0>], xtc.axes = ["psx", "psy"]}
// CHECK:       } {mapping = [#gpu.block<linear_dim_0>], xtc.axes = ["px", "py"]}
func.func @on_one_cluster(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = linalg.matmul {__xtc_id_C_, loop.dims = ["i", "j", "k"],
      loop.schedule = "{i: {distribute: psx}, j: {distribute: psy, pack: 1}, k: {}, i#2: {}}"}
      ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Each of five clusters has four rows of a in its SMEM, and works on two of them at a time.

// CHECK-LABEL: func.func @rows_by_cluster
// CHECK:       scf.forall (%[[C:.*]]) in (5)
// CHECK:         %[[FIRST:.*]] = affine.apply #{{.*}}(%[[C]])
// CHECK:         %[[PART:.*]] = tensor.extract_slice %arg0[%[[FIRST]], 0] [4, 16] [1, 1]
// CHECK:         %[[A:.*]] = bufferization.alloc_tensor() copy(%[[PART]]) {memory_space = 2 : i64} : tensor<4x16xf32>
// CHECK:         scf.for %[[I:.*]] = %c0 to %c4 step %c2
// CHECK:           tensor.extract_slice %[[A]][%[[I]], 0] [2, 16] [1, 1]
// CHECK:           scf.forall (%{{.*}}) in (8)
// CHECK:           } {"./j", mapping = [#gpu.thread<linear_dim_0>], xtc.axes = ["psy"]}
// CHECK:         } {"./i"}
// CHECK:       } {"./i", mapping = [#gpu.block<linear_dim_0>], xtc.axes = ["py"]}
func.func @rows_by_cluster(%a: tensor<20x16xf32>, %b: tensor<16x8xf32>, %c: tensor<20x8xf32>) -> tensor<20x8xf32> {
  %r = linalg.matmul {__xtc_id_C_, loop.dims = ["i", "j", "k"],
      loop.schedule = "{i: {distribute: py, shard: {0: [my, '*']}}, j: {distribute: psy}, k: {}, i#2: {}}"}
      ins(%a, %b : tensor<20x16xf32>, tensor<16x8xf32>) outs(%c : tensor<20x8xf32>) -> tensor<20x8xf32>
  return %r : tensor<20x8xf32>
}

// A full reduction runs on one PE, on a copy in its cluster.

// CHECK-LABEL: func.func @total
// CHECK:       scf.forall (%{{.*}}) in (1)
// CHECK:         scf.forall (%{{.*}}) in (1)
// CHECK:           bufferization.alloc_tensor() copy(%{{.*}}) {memory_space = 2 : i64} : tensor<8xf32>
func.func @total(%a: tensor<64xf32>, %t: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {__xtc_id_t_, loop.dims = ["k"], loop.schedule = "{k: {pack: 0}, k#8: {}}",
      indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
      ins(%a : tensor<64xf32>) outs(%t : tensor<f32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %o, %x : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
