// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --define-arenas{huge-pages=true} | FileCheck %s

// The declarations become functions; a large arena is aligned to huge pages and asks for them.

// CHECK-NOT: llvm.func @small.arena.take()
// CHECK-LABEL: llvm.mlir.global internal @small.arena.kept()
// CHECK-LABEL: llvm.func internal @small.arena.take() -> !llvm.ptr
// CHECK-DAG: llvm.mlir.constant(64 : i64)
// CHECK-DAG: llvm.mlir.constant(128 : i64)
// CHECK: llvm.atomicrmw xchg
// CHECK-NOT: @madvise
// CHECK-LABEL: llvm.func internal @small.arena.give(
// CHECK: llvm.cmpxchg
// CHECK: llvm.call @free
// CHECK-LABEL: llvm.func internal @large.arena.take() -> !llvm.ptr
// CHECK-DAG: llvm.mlir.constant(2097152 : i64)
// CHECK-DAG: llvm.mlir.constant(4194304 : i64)
// CHECK: llvm.call @madvise
// CHECK-LABEL: llvm.func @xtc.arenas.release() attributes {xtc.arena = array<i64: 3000128, 3000064>}
// CHECK-COUNT-16: llvm.call @free
llvm.func @free(!llvm.ptr)
llvm.func @small.arena.take() -> !llvm.ptr attributes {xtc.arena = array<i64: 128, 64>}
llvm.func @small.arena.give(!llvm.ptr)
llvm.func @large.arena.take() -> !llvm.ptr attributes {xtc.arena = array<i64: 3000000, 3000000>}
llvm.func @large.arena.give(!llvm.ptr)
