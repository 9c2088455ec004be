// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --apply-schedules{levels=2} --canonicalize --cse | FileCheck %s
// RUN: xtc-opt %s --apply-schedules | FileCheck %s --check-prefix=ONE
// RUN: not xtc-opt %s --apply-schedules{levels=0} 2>&1 | FileCheck %s --check-prefix=NONE

// A machine with blocks of threads has two levels of parallel loops; other machines have one level
// of threads.
// ONE:     scf.forall {{.*}} in (4, 2)
// ONE:     scf.forall {{.*}} in (2, 16)
// ONE-NOT: mapping
// NONE: option 'levels' of pass 'apply-schedules' is 0

// CHECK-LABEL: func.func @matmul
// CHECK: scf.forall {{.*}} in (4, 2)
// CHECK:   scf.for
// CHECK:     bufferization.alloc_tensor() copy
// CHECK:     scf.forall {{.*}} in (2, 16)
// CHECK:     {"./i#2", "./j#16", mapping = [#gpu.thread<linear_dim_1>, #gpu.thread<linear_dim_0>]}
// CHECK: {"./i", "./j", mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
func.func @matmul(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = linalg.matmul {
    loop.dims = ["i", "j", "k"],
    loop.schedule = "{i: parallelize, j: parallelize, k: pack:1, i#2: parallelize, j#16: parallelize, k#4: {}}"
  } ins(%a, %b : tensor<8x16xf32>, tensor<16x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
