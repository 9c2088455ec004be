// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --announce-accesses | FileCheck %s

// CHECK: llvm.func @dev_access(!llvm.ptr, !llvm.ptr, i64, i32)
llvm.func @dev_smem() -> !llvm.ptr

// An access is reported with its buffer, which is an argument or a part of SMEM.

// CHECK-LABEL: llvm.func @pe
// CHECK: %[[P:.*]] = llvm.getelementptr
// CHECK: %[[Q:.*]] = llvm.getelementptr %[[P]]
// CHECK: %[[FOUR:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: %[[READ:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: llvm.call @dev_access(%arg0, %[[Q]], %[[FOUR]], %[[READ]])
// CHECK-NEXT: llvm.load %[[Q]]
// CHECK: %[[BUFFER:.*]] = llvm.getelementptr %{{.*}}[3328]
// CHECK: %[[R:.*]] = llvm.getelementptr %[[BUFFER]]
// CHECK: llvm.mlir.constant(32 : i64)
// CHECK: %[[WRITE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: llvm.call @dev_access(%[[BUFFER]], %[[R]], %{{.*}}, %[[WRITE]])
// CHECK-NEXT: llvm.store %{{.*}}, %[[R]] : vector<8xf32>
llvm.func @pe(%a: !llvm.ptr, %i: i64) {
  %p = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %q = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %q : !llvm.ptr -> f32
  %v = llvm.mlir.poison : vector<8xf32>
  %smem = llvm.call @dev_smem() : () -> !llvm.ptr
  %buffer = llvm.getelementptr %smem[3328] : (!llvm.ptr) -> !llvm.ptr, i8
  %r = llvm.getelementptr %buffer[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %v, %r : vector<8xf32>, !llvm.ptr
  llvm.return
}

// The stack is private to a PE.

// CHECK-LABEL: llvm.func @own
// CHECK-NOT: dev_access
llvm.func @own(%x: i32) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %place = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
  llvm.store %x, %place : i32, !llvm.ptr
  llvm.return
}
