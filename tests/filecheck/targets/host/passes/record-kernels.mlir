// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --record-kernels | FileCheck %s --check-prefixes=CHECK,CLOCK
// RUN: xtc-opt %s --record-kernels{counter=tsc} | FileCheck %s --check-prefixes=CHECK,TSC
// RUN: xtc-opt %s --record-kernels{counter=cntvct} | FileCheck %s --check-prefixes=CHECK,CNTVCT
// RUN: not xtc-opt %s --record-kernels{counter=hpet} 2>&1 | FileCheck %s --check-prefix=HPET

// HPET: error: option 'counter' of pass 'record-kernels' is 'hpet'
// HPET-NEXT: hint: tsc, cntvct, or nothing for the clock

// A counter is read before the first kernel and after each, if the window contains its number; other
// calls are unaffected.

// CHECK: module attributes {xtc.profile = {{\[\[}}"a", "net.kernel.a", ["a"], 64], ["b", "net.kernel.a", ["b"], -1]]}
// CHECK-LABEL: llvm.func @net(
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK: llvm.call @xtc.stamp(%[[ZERO]])
// CHECK: llvm.call @net.kernel.a(%arg0) {xtc.node = "a", xtc.operations = 64 : i64}
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32) : i32
// CHECK: llvm.call @xtc.stamp(%[[ONE]])
// CHECK: llvm.call @other(%arg0)
// CHECK: llvm.call @net.kernel.a(%arg0) {xtc.node = "b"}
// CHECK: %[[TWO:.*]] = llvm.mlir.constant(2 : i32) : i32
// CHECK: llvm.call @xtc.stamp(%[[TWO]])
// CHECK: llvm.return
// CHECK: llvm.mlir.global external protected @xtc.window(dense<[0, 3]> : tensor<2xi32>)
// CHECK: llvm.mlir.global external protected @xtc.stamps() {{.*}} : !llvm.array<3 x i64>
// CHECK-LABEL: llvm.func internal @xtc.read(
// CLOCK: llvm.call @xtc.monotonic()
// TSC: llvm.call_intrinsic "llvm.readcyclecounter"()
// CNTVCT: llvm.inline_asm has_side_effects "mrs $0, CNTVCT_EL0"
// CHECK-LABEL: llvm.func internal @xtc.stamp(
// CHECK: llvm.cond_br
// CHECK: llvm.call @xtc.stamp.write(
llvm.func @other(!llvm.ptr)
llvm.func @net.kernel.a(!llvm.ptr)
llvm.func @net(%x: !llvm.ptr) {
  llvm.call @net.kernel.a(%x) {xtc.node = "a", xtc.operations = 64 : i64} : (!llvm.ptr) -> ()
  llvm.call @other(%x) : (!llvm.ptr) -> ()
  llvm.call @net.kernel.a(%x) {xtc.node = "b"} : (!llvm.ptr) -> ()
  llvm.return
}
