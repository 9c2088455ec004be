// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --pass-workspaces | FileCheck %s

// Each caller allocates; allocations inside a loop stay in the kernel.

// CHECK-LABEL: func.func private @net.kernel.a(
// CHECK-SAME: %arg0: memref<4xf32> {llvm.noalias}
// CHECK-SAME: %arg1: memref<4xf32> {llvm.align = 64 : i64, llvm.noalias}
// CHECK-NOT: memref.alloc() {alignment
// CHECK: linalg.exp ins(%arg0 : memref<4xf32>) outs(%arg1 : memref<4xf32>)
// CHECK: scf.for
// CHECK: memref.alloc() : memref<2xf32>
func.func private @net.kernel.a(%x: memref<4xf32> {llvm.noalias}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %b = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  linalg.exp ins(%x : memref<4xf32>) outs(%b : memref<4xf32>)
  scf.for %i = %zero to %one step %one {
    %c = memref.alloc() : memref<2xf32>
    linalg.exp ins(%c : memref<2xf32>) outs(%c : memref<2xf32>)
  }
  linalg.exp ins(%b : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// CHECK-LABEL: func.func @net(
// CHECK: %[[A:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK: call @net.kernel.a(%arg0, %[[A]]) {xtc.node = "a"}
// CHECK: %[[B:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK: call @net.kernel.a(%arg0, %[[B]]) {xtc.node = "b"}
func.func @net(%x: memref<4xf32>) {
  call @net.kernel.a(%x) {xtc.node = "a"} : (memref<4xf32>) -> ()
  call @net.kernel.a(%x) {xtc.node = "b"} : (memref<4xf32>) -> ()
  return
}
