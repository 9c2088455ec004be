// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-schedules --canonicalize --fuse-elementwise --distribute-by-default --canonicalize --cse \
// RUN:   --eliminate-empty-tensors --empty-tensor-to-alloc-tensor \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   --buffer-results-to-out-params="hoist-static-allocs=true" --canonicalize --cse --canonicalize | FileCheck %s

// Schedules become buffers and copies at the requested loops, and no others: a layer, whose bias and
// activation are in the loop nest of its contraction, then a contraction that the user distributes.

shard.grid @memory_mesh(shape = 1x1) {xtc.axes = ["mx", "my"]}
shard.grid @processor_mesh(shape = 1x1x2x8) {xtc.axes = ["px", "py", "psx", "psy"], xtc.memory = @memory_mesh}

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func private @layers.mppa0.0
// CHECK-SAME:    (%[[X:.*]]: memref<40x64xf32>, %[[W:.*]]: memref<64x32xf32>, %[[BIAS:.*]]: memref<32xf32>, %[[V:.*]]: memref<32x8xf32>, %[[OUT:.*]]: memref<40x8xf32>)
// CHECK:         %[[H:.*]] = memref.alloc() {{.*}} : memref<40x32xf32>
// CHECK-NEXT:    scf.forall (%{{.*}}) in (5) {
// CHECK:           memref.alloc() {{.*}} : memref<8x32xf32, 2>
// CHECK:             linalg.fill
// CHECK:           scf.for %{{.*}} = %c0 to %c64 step %c16 {
// CHECK:             memref.copy %{{.*}}, %{{.*}} : memref<8x16xf32, strided<[64, 1], offset: ?>> to memref<8x16xf32, 2>
// CHECK:             memref.copy %{{.*}}, %{{.*}} : memref<16x32xf32, strided<[32, 1], offset: ?>> to memref<16x32xf32, 2>
// CHECK:             scf.forall
// CHECK:               linalg.matmul
// CHECK:             } {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK:           memref.copy %[[BIAS]], %{{.*}} : memref<32xf32> to memref<32xf32, 2>
// CHECK:           scf.forall
// CHECK:             arith.addf
// CHECK:             arith.maximumf
// CHECK-NOT:         memref.copy
// CHECK:           } {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK:           memref.copy %{{.*}}, %{{.*}} : memref<8x32xf32, 2> to memref<8x32xf32, strided<[32, 1], offset: ?>>
// CHECK-NEXT:    } {mapping = [#gpu.block<linear_dim_0>]}
// CHECK-NEXT:    scf.forall (%{{.*}}) in (5) {
// CHECK:           linalg.fill
// CHECK:         } {mapping = [#gpu.block<linear_dim_0>]}
// CHECK-NEXT:    scf.forall (%{{.*}}) in (1) {
// CHECK-NEXT:      %[[LOCAL:.*]] = memref.alloc() {{.*}} : memref<32x8xf32, 2>
// CHECK-NEXT:      memref.copy %[[V]], %[[LOCAL]] : memref<32x8xf32> to memref<32x8xf32, 2>
// CHECK-NEXT:      scf.forall (%[[I:.*]], %[[J:.*]]) in (2, 8) {
// CHECK-NOT:         memref.copy
// CHECK:           xtc.axes = ["psx", "psy"]
// CHECK-NEXT:    } {mapping = [#gpu.block<linear_dim_0>], xtc.axes = ["px", "py"]}
// CHECK-NEXT:    return
func.func private @layers.mppa0.0(
    %x: tensor<40x64xf32> {bufferization.writable = false}, %w: tensor<64x32xf32> {bufferization.writable = false},
    %bias: tensor<32xf32> {bufferization.writable = false}, %v: tensor<32x8xf32> {bufferization.writable = false})
    -> tensor<40x8xf32> attributes {xtc.device = "mppa0", xtc.results = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<40x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<40x32xf32>) -> tensor<40x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<40x64xf32>, tensor<64x32xf32>) outs(%i : tensor<40x32xf32>) -> tensor<40x32xf32>
  %s = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %bias : tensor<40x32xf32>, tensor<32xf32>) outs(%e : tensor<40x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<40x32xf32>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<40x32xf32>) outs(%e : tensor<40x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %a, %zero : f32
    linalg.yield %y : f32
  } -> tensor<40x32xf32>
  %f = tensor.empty() : tensor<40x8xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<40x8xf32>) -> tensor<40x8xf32>
  %r = linalg.matmul {__xtc_id_R_, loop.dims = ["i", "j", "k"],
      loop.schedule = "{i: {distribute: psx}, j: {distribute: psy, pack: 1}, k: {}, i#4: {}}"}
      ins(%h, %v : tensor<40x32xf32>, tensor<32x8xf32>) outs(%j : tensor<40x8xf32>) -> tensor<40x8xf32>
  return %r : tensor<40x8xf32>
}
