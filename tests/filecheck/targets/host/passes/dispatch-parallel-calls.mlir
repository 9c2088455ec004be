// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --dispatch-parallel-calls | FileCheck %s

// The marked call goes to a function that stores the arguments and hands the range to the table's;
// other calls stay. A body that two calls run has the function once.

// CHECK-LABEL: llvm.func internal @f.parallel.0(
// CHECK-SAME: !llvm.ptr {llvm.noalias}
// CHECK-SAME: attributes {no_inline}
llvm.func internal @f.parallel.0(%a: !llvm.ptr {llvm.noalias}, %s: f32, %first: i64, %last: i64) {
  llvm.return
}

// CHECK-LABEL: llvm.func @f(
// CHECK: llvm.call @f.parallel.0.start(%arg0, %arg1, %{{.*}}, %{{.*}}) : (!llvm.ptr, f32, i64, i64)
// CHECK: llvm.call @f.parallel.0.start(%arg0, %arg1, %{{.*}}, %{{.*}}) : (!llvm.ptr, f32, i64, i64)
// CHECK: llvm.call @f.parallel.0(
llvm.func @f(%a: !llvm.ptr {llvm.noalias}, %s: f32) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %count = llvm.mlir.constant(8 : i64) : i64
  llvm.call @f.parallel.0(%a, %s, %zero, %count) {xtc.parallel} : (!llvm.ptr, f32, i64, i64) -> ()
  llvm.call @f.parallel.0(%a, %s, %zero, %count) {xtc.parallel} : (!llvm.ptr, f32, i64, i64) -> ()
  llvm.call @f.parallel.0(%a, %s, %zero, %count) : (!llvm.ptr, f32, i64, i64) -> ()
  llvm.return
}

// If a body returns a status, that of all chunks follows the arguments.
// CHECK-LABEL: llvm.func internal @g.parallel.0(
llvm.func internal @g.parallel.0(%a: !llvm.ptr, %first: i64, %last: i64) -> i32 {
  %status = llvm.mlir.constant(0 : i32) : i32
  llvm.return %status : i32
}

// CHECK-LABEL: llvm.func @g(
// CHECK: llvm.call @g.parallel.0.start({{.*}}) : (!llvm.ptr, i64, i64) -> i32
llvm.func @g(%a: !llvm.ptr) -> i32 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %count = llvm.mlir.constant(8 : i64) : i64
  %status = llvm.call @g.parallel.0(%a, %zero, %count) {xtc.parallel} : (!llvm.ptr, i64, i64) -> i32
  llvm.return %status : i32
}

// CHECK-LABEL: llvm.func internal @f.parallel.0.start(
// CHECK-SAME: %[[A:.*]]: !llvm.ptr, %[[S:.*]]: f32, %{{.*}}: i64, %[[COUNT:.*]]: i64)
// CHECK: %[[CONTEXT:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr, f32)>
// CHECK: %[[ONE:.*]] = llvm.insertvalue %[[A]], %{{.*}}[0]
// CHECK: %[[BOTH:.*]] = llvm.insertvalue %[[S]], %[[ONE]][1]
// CHECK: llvm.store %[[BOTH]], %[[CONTEXT]]
// CHECK: llvm.mlir.addressof @xtc.pool
// CHECK: %[[CHUNK:.*]] = llvm.mlir.addressof @f.parallel.0.chunk
// CHECK: llvm.call %{{.*}}(%[[CHUNK]], %[[CONTEXT]], %[[COUNT]], %{{.*}})

// CHECK-LABEL: llvm.func internal @f.parallel.0.chunk(
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr, %[[FIRST:.*]]: i64, %[[LAST:.*]]: i64)
// CHECK: llvm.call @f.parallel.0(%{{.*}}, %{{.*}}, %[[FIRST]], %[[LAST]])

// CHECK-LABEL: llvm.func internal @g.parallel.0.start(
// CHECK-SAME: -> i32
// CHECK: llvm.store %{{.*}}, %[[CONTEXT:.*]] : !llvm.struct<(ptr, i32)>, !llvm.ptr
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[CONTEXT]][0, 1]
// CHECK: %[[STATUS:.*]] = llvm.load %[[PLACE]]
// CHECK: llvm.return %[[STATUS]]

// CHECK-LABEL: llvm.func internal @g.parallel.0.chunk(
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> !llvm.struct<(ptr)>
// CHECK: %[[STATUS:.*]] = llvm.call @g.parallel.0(
// CHECK: llvm.atomicrmw _or %{{.*}}, %[[STATUS]] monotonic

// As built, the table's function runs the whole range on the calling thread.
// CHECK-LABEL: llvm.mlir.global external protected @xtc.pool()
// CHECK: llvm.mlir.addressof @xtc.pool.serial
// CHECK-LABEL: llvm.func internal @xtc.pool.serial(
// CHECK-SAME: %[[LOOP:.*]]: !llvm.ptr, %[[CONTEXT:.*]]: !llvm.ptr, %[[COUNT:.*]]: i64, %{{.*}}: i64)
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i64)
// CHECK: llvm.call %[[LOOP]](%[[CONTEXT]], %[[ZERO]], %[[COUNT]])
