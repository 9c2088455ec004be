// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --export-kernels | FileCheck %s

// CHECK-LABEL: llvm.func internal @f.mppa0.1.control(%arg0: !llvm.ptr, %arg1: !llvm.ptr)
// CHECK: llvm.call @f.pe0.launch(%{{.*}}, %arg1, %{{.*}}) : (i64, !llvm.ptr, i64) -> ()
// CHECK: llvm.func @dev_pe_launch(!llvm.ptr, !llvm.ptr, i32)

// CHECK-LABEL: llvm.func internal @f.pe0.launch(
// CHECK: %[[CONTEXT:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr, i64)>
// CHECK: %[[ENTRY:.*]] = llvm.mlir.addressof @f.pe0.run
// CHECK: %[[PES:.*]] = llvm.mlir.constant(12 : i32)
// CHECK: llvm.call @dev_pe_launch(%[[ENTRY]], %[[CONTEXT]], %[[PES]])

// CHECK-LABEL: llvm.func internal @f.pe0.run(%arg0: i32, %arg1: !llvm.ptr)
// CHECK: %[[PE:.*]] = llvm.zext %arg0 : i32 to i64
// CHECK: llvm.call @f.pe0(%[[PE]], %{{.*}}, %{{.*}})

// CHECK-LABEL: llvm.func @f_mppa0_1(%arg0: !llvm.ptr)
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: %[[B:.*]] = llvm.load %[[SECOND]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call @f.mppa0.1.control(%{{.*}}, %[[B]])
llvm.func internal @f.pe0(%pe: i64, %a: !llvm.ptr, %i: i64) {
  llvm.return
}
llvm.func @f.mppa0.1(%a: !llvm.ptr, %b: !llvm.ptr) attributes {mppa.kernel} {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @f.pe0(%zero, %b, %zero) {xtc.units = 12 : i64} : (i64, !llvm.ptr, i64) -> ()
  llvm.return
}
