// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --drop-meshes | FileCheck %s

// CHECK-NOT: shard.grid
// CHECK:     func.func @f
// CHECK-NOT: shard.grid
shard.grid @memory_mesh(shape = 5) {xtc.axes = ["mx"]}
func.func @f() {
  return
}
module @npu0 {
  shard.grid @processor_mesh(shape = 5x16) {xtc.axes = ["px", "psx"], xtc.memory = @memory_mesh}
}
