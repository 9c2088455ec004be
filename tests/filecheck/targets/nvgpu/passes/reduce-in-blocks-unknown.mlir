// SPDX-License-Identifier: Apache-2.0
// RUN: not xtc-opt %s --reduce-in-blocks 2>&1 | FileCheck %s
// CHECK: kernel 'scaled' is marked as a reduction but is not one

#row = affine_map<(d0) -> (d0)>

func.func @scaled(%a: memref<8xf32, 1>, %r: memref<8xf32, 1>) {
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
    ins(%a : memref<8xf32, 1>) outs(%r : memref<8xf32, 1>) attrs = {nvgpu.reduction} {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %x, %x : f32
    linalg.yield %t : f32
  }
  return
}
