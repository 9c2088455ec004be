// RUN: xtc-opt %s --bind-device-commands | FileCheck %s

// The callee is the ninth function in the runtime's table.

// CHECK: llvm.mlir.global external protected @xtc.program() {{.*}}: !llvm.ptr
// CHECK: llvm.func internal @xtc_wait(%[[DEVICE:.*]]: i64)
// CHECK:   %[[PROGRAM:.*]] = llvm.load
// CHECK:   %[[PLACE:.*]] = llvm.getelementptr %[[PROGRAM]][8]
// CHECK:   %[[CALL:.*]] = llvm.load %[[PLACE]]
// CHECK:   llvm.call %[[CALL]](%[[PROGRAM]], %[[DEVICE]]) : !llvm.ptr, (!llvm.ptr, i64) -> ()
llvm.func @xtc_wait(i64) attributes {sym_visibility = "private"}
llvm.func @xtc_abandon() attributes {sym_visibility = "private"}
llvm.func @f(%device: i64) {
  llvm.call @xtc_wait(%device) : (i64) -> ()
  llvm.return
}
