// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --mark-lines | FileCheck %s

llvm.func @cuda_read(!llvm.ptr, i32)
llvm.func @cuda_thread_id(i32) -> i32

// A line is marked in each block that reaches it, once for consecutive calls. Calls that cannot fail,
// and calls without a line, are not marked.
// CHECK-LABEL: llvm.func @f
// CHECK:       %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT:  llvm.call @cuda_line(%[[ONE]])
// CHECK-NEXT:  llvm.call @cuda_read
// CHECK-NEXT:  llvm.call @cuda_read
// CHECK-NEXT:  llvm.call @cuda_thread_id
// CHECK-NEXT:  llvm.call @cuda_read
// CHECK-NEXT:  %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:  llvm.call @cuda_line(%[[TWO]])
// CHECK-NEXT:  llvm.call @cuda_read
// CHECK-NEXT:  llvm.br
// CHECK:       %[[AGAIN:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT:  llvm.call @cuda_line(%[[AGAIN]])
// CHECK-NEXT:  llvm.call @cuda_read
// CHECK-NEXT:  llvm.call @cuda_read
// CHECK-NEXT:  llvm.return
llvm.func @f(%a: !llvm.ptr, %n: i32) {
  llvm.call @cuda_read(%a, %n) : (!llvm.ptr, i32) -> () loc("kernel.py":7:9)
  llvm.call @cuda_read(%a, %n) : (!llvm.ptr, i32) -> () loc("kernel.py":7:9)
  %t = llvm.call @cuda_thread_id(%n) : (i32) -> i32 loc("kernel.py":8:9)
  llvm.call @cuda_read(%a, %n) : (!llvm.ptr, i32) -> () loc("kernel.py":7:9)
  llvm.call @cuda_read(%a, %n) : (!llvm.ptr, i32) -> () loc("kernel.py":9:9)
  llvm.br ^end
^end:
  llvm.call @cuda_read(%a, %n) : (!llvm.ptr, i32) -> () loc("kernel.py":7:9)
  llvm.call @cuda_read(%a, %n) : (!llvm.ptr, i32) -> () loc(unknown)
  llvm.return
}
