// RUN: xtc-opt %s --roll-elementwise="most=100" | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// A sequence of more than 100 instructions: its operands go to memory, where the array of an operand
// takes the result; the last piece repeats an element. A splat needs no array. Truth values are bytes.
// CHECK-LABEL: func.func @long
// CHECK-SAME: %[[X:.*]]: vector<18xf32>, %[[M:.*]]: vector<18xi1>, %[[S:.*]]: f32
// CHECK-DAG: %[[BYTES:.*]] = llvm.alloca %{{.*}} x vector<4xi8> {alignment = 16
// CHECK-DAG: %[[ARRAY:.*]] = llvm.alloca %{{.*}} x vector<4xf32> {alignment = 16
// CHECK: %[[E16:.*]] = vector.extract %[[X]][16]
// CHECK: %[[E17:.*]] = vector.extract %[[X]][17]
// CHECK-NEXT: %[[E18:.*]] = vector.extract %[[X]][17]
// CHECK-NEXT: %[[E19:.*]] = vector.extract %[[X]][17]
// CHECK-NEXT: %[[LAST:.*]] = vector.from_elements %[[E16]], %[[E17]], %[[E18]], %[[E19]] : vector<4xf32>
// CHECK: %[[END:.*]] = llvm.getelementptr %[[ARRAY]][64]
// CHECK: llvm.store %[[LAST]], %[[END]] {alignment = 16
// CHECK: scf.for %[[N:.*]] = %c0_i32 to %c5_i32
// CHECK: %[[OFFSET:.*]] = arith.muli %[[N]], %c16_i32
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[ARRAY]][%[[OFFSET]]]
// CHECK: %[[V:.*]] = llvm.load %[[FROM]] {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xi8>
// CHECK: %[[T:.*]] = arith.trunci %[[BYTE]] : vector<4xi8> to vector<4xi1>
// CHECK: %[[SINE:.*]] = math.sin %[[V]] : vector<4xf32>
// CHECK: %[[SPLAT:.*]] = vector.broadcast %[[S]] : f32 to vector<4xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[SINE]], %[[SPLAT]] : vector<4xf32>
// CHECK: %[[R:.*]] = arith.select %[[T]], %[[SUM]], %[[V]]
// CHECK: %[[TO:.*]] = llvm.getelementptr %[[ARRAY]]
// CHECK: llvm.store %[[R]], %[[TO]]
// CHECK: }
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<4xf32>
// CHECK: %[[WHOLE:.*]] = vector.from_elements %{{.*}} : vector<18xf32>
// CHECK: llvm.store %[[WHOLE]], %{{.*}} : vector<18xf32>

// A short sequence beside a long one, and one of a host function, remain.
// CHECK-LABEL: func.func @short
// CHECK: arith.addf %{{.*}} : vector<18xf32>
// CHECK: scf.for
// CHECK: math.sin %{{.*}} : vector<4xf32>
// CHECK-LABEL: func.func @host
// CHECK: math.sin %{{.*}} : vector<18xf32>
module {
  func.func @long(%x: vector<18xf32>, %m: vector<18xi1>, %s: f32, %out: !llvm.ptr) attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
    %spread = vector.broadcast %s : f32 to vector<18xf32>
    %sine = math.sin %x : vector<18xf32>
    %sum = arith.addf %sine, %spread : vector<18xf32>
    %r = arith.select %m, %sum, %x : vector<18xi1>, vector<18xf32>
    llvm.store %r, %out : vector<18xf32>, !llvm.ptr
    return
  }
  func.func @short(%x: vector<18xf32>, %out: !llvm.ptr) attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
    %sine = math.sin %x : vector<18xf32>
    %twice = arith.addf %x, %x : vector<18xf32>
    llvm.store %sine, %out : vector<18xf32>, !llvm.ptr
    llvm.store %twice, %out : vector<18xf32>, !llvm.ptr
    return
  }
  func.func @host(%x: vector<18xf32>, %out: !llvm.ptr) {
    %sine = math.sin %x : vector<18xf32>
    llvm.store %sine, %out : vector<18xf32>, !llvm.ptr
    return
  }
}
