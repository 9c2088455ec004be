// SPDX-License-Identifier: Apache-2.0
// RUN: not xtc-opt %s --check-schedules 2>&1 | FileCheck %s
// RUN: xtc-opt %s --apply-schedules --check-schedules | FileCheck %s --check-prefix=FOLLOWED

// A schedule that no pass has applied is an error; apply-schedules removes those that it applies.

// CHECK:      check-schedules.mlir:[[#]]:[[#]]: the schedule of linalg.generic is not followed: the target of linalg.generic does not support schedules
// CHECK-NEXT:   hint: leave linalg.generic out of the schedule, or run it on another device
// FOLLOWED-LABEL: func.func @double
// FOLLOWED:       scf.for {{.*}} to %c8
#id = affine_map<(d0) -> (d0)>
func.func @double(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>)
      attrs = {loop.dims = ["i"], loop.schedule = "{i: }"} {
  ^bb0(%x: f32, %old: f32):
    %y = arith.addf %x, %x : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
