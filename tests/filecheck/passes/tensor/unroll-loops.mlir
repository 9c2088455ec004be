// RUN: xtc-opt %s --unroll-loops | FileCheck %s

// The loop with a factor is removed, and its body is repeated that many times.

// CHECK-LABEL: func.func @double
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK-COUNT-4: memref.store
// CHECK-NOT: memref.store
// CHECK-NOT: xtc.unroll
func.func @double(%a: memref<8x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i, %j] : memref<8x4xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i, %j] : memref<8x4xf32>
    } {"./j", xtc.unroll = 4 : i64}
  } {"./i"}
  return
}
