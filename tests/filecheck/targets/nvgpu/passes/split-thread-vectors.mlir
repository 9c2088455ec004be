// RUN: xtc-opt %s --split-thread-vectors | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[X:.*]]: f32, %[[V:.*]]: vector<18xf32>
// CHECK-NOT: vector<20xf32>
// CHECK: %[[LAST:.*]] = arith.constant 3.000000e+00 : f32
// CHECK-NOT: vector<20xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK-NOT: vector<20xf32>
// CHECK: %[[LAST_STEP:.*]] = arith.constant 16 : i32
// CHECK-NEXT: llvm.store %[[LAST_STEP]]
// CHECK-NOT: vector<17xi32>
// CHECK: return
// CHECK-LABEL: func.func @host
// CHECK: arith.addf %{{.*}} : vector<20xf32>
module {
  func.func @kernel(%x: f32, %v: vector<18xf32>, %out: !llvm.ptr) attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
    %three = arith.constant dense<3.0> : vector<20xf32>
    %spread = vector.broadcast %x : f32 to vector<20xf32>
    %sum = arith.mulf %three, %spread : vector<20xf32>
    %picked = vector.shuffle %sum, %sum [19, 0] : vector<20xf32>, vector<20xf32>
    llvm.store %picked, %out : vector<2xf32>, !llvm.ptr
    %c = vector.extract %three[19] : f32 from vector<20xf32>
    llvm.store %c, %out : f32, !llvm.ptr
    %twice = arith.addf %v, %v : vector<18xf32>
    %d = vector.extract %twice[17] : f32 from vector<18xf32>
    llvm.store %d, %out : f32, !llvm.ptr
    %steps = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]> : vector<17xi32>
    %e = vector.extract %steps[16] : i32 from vector<17xi32>
    llvm.store %e, %out : i32, !llvm.ptr
    return
  }
  func.func @host(%v: vector<20xf32>) -> vector<20xf32> {
    %twice = arith.addf %v, %v : vector<20xf32>
    return %twice : vector<20xf32>
  }
}
