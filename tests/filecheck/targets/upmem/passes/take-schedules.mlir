// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--take-schedules{dpus=4 tasklets=8}' | FileCheck %s
// RUN: not xtc-opt %s '--take-schedules{dpus=8 tasklets=8}' 2>&1 | FileCheck %s --check-prefix=ROWS

// Loops over tiles with their steps: i, which tasklets share, then j, then k, whose tile the compiler
// chooses.
// CHECK:      linalg.generic
// CHECK-SAME: upmem.schedule = array<i64: 0, 2, 1, 16, 2, 0>, upmem.shared = 1 : i64

// ROWS: 'i' of linalg.matmul gives a DPU 16 rows, and on 8 DPUs each has 8: DPUs do not support this

shard.grid @memories(shape = 4) {xtc.axes = ["memory"]}
shard.grid @processors(shape = 4x8) {xtc.axes = ["dpu", "tasklet"], xtc.memory = @memories}

func.func @matmul(%a: tensor<64x64xi32>, %b: tensor<64x64xi32>, %c: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"],
      loop.schedule = "{i: {distribute: dpu}, i#16: {distribute: tasklet}, j: {}, k: {}, i#2: {}, j#16: {}}"}
    ins(%a, %b : tensor<64x64xi32>, tensor<64x64xi32>) outs(%c : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %0 : tensor<64x64xi32>
}
