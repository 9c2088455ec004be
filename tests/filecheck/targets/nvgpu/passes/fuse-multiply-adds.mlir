// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --fuse-multiply-adds | FileCheck %s

// A product whose only user is a sum is fused with it. A product with another user is not, nor are
// narrow floats.
// CHECK-LABEL: func.func @sums
// CHECK:       %[[S:.*]] = math.fma %[[A:.*]], %[[B:.*]], %[[T:.*]] : tensor<64xf32>
// CHECK:       %[[Q:.*]] = arith.mulf %[[B]], %[[B]]
// CHECK:       arith.addf %[[S]], %[[Q]]
// CHECK:       arith.mulf %{{.*}} : tensor<64xf16>
// CHECK:       arith.addf %{{.*}} : tensor<64xf16>
func.func @sums(%out: memref<f32, 1>) attributes {xtc.warps = 1 : i64} {
  %s0 = memref.alloc() : memref<64xf32, 2>
  %s1 = memref.alloc() : memref<64xf16, 2>
  %a = "tile.load_shared"(%s0) : (memref<64xf32, 2>) -> tensor<64xf32>
  %b = "tile.load_shared"(%s0) : (memref<64xf32, 2>) -> tensor<64xf32>
  %t = "tile.load_shared"(%s0) : (memref<64xf32, 2>) -> tensor<64xf32>
  %p = arith.mulf %a, %b : tensor<64xf32>
  %s = arith.addf %t, %p : tensor<64xf32>
  %q = arith.mulf %b, %b : tensor<64xf32>
  %r = arith.addf %s, %q : tensor<64xf32>
  %u = arith.subf %r, %q : tensor<64xf32>
  "tile.store_shared"(%u, %s0) : (tensor<64xf32>, memref<64xf32, 2>) -> ()
  %h = "tile.load_shared"(%s1) : (memref<64xf16, 2>) -> tensor<64xf16>
  %i = arith.mulf %h, %h : tensor<64xf16>
  %j = arith.addf %i, %h : tensor<64xf16>
  "tile.store_shared"(%j, %s1) : (tensor<64xf16>, memref<64xf16, 2>) -> ()
  return
}

// Other kernels than tile kernels are left to the code generator.
// CHECK-LABEL: func.func @other
// CHECK:       arith.mulf
func.func @other(%a: f32) -> f32 {
  %p = arith.mulf %a, %a : f32
  %s = arith.addf %p, %a : f32
  return %s : f32
}
