// RUN: xtc-opt %s --plan-memory{alignment=16} --canonicalize | FileCheck %s
// RUN: xtc-opt %s --plan-memory{alignment=16} | FileCheck %s --check-prefix=PLAN

// %a and %y are never live together, so they share; %b lives through both calls that use it.
// CHECK:       memref.global @net_arena : memref<192xi8> = uninitialized {alignment = 16 : i64}
// A small buffer of an iteration is on the stack of its function.
// CHECK-LABEL: func.func private @net.op.c(
// CHECK:         memref.alloca() {alignment = 8 : i64} : memref<4xf32>
// CHECK:         scf.for
// CHECK-NOT:     memref.alloc()
// CHECK-LABEL: func.func @net()
// CHECK-DAG:     %[[ARENA:.*]] = memref.get_global @net_arena
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[B:.*]] = memref.view %[[ARENA]][%[[C0]]][] : memref<192xi8> to memref<32xf32>
// CHECK:         call @net.op.c(
// CHECK-NOT:     dealloc
// PLAN: xtc.memory_plan = [
// PLAN-SAME: {begin = 0 : i64, bytes = 64 : i64, end = {{[0-9]+}} : i64, name = "argument0", offset = 128 : i64}
// PLAN-SAME: name = "argument1", offset = 128 : i64}
// PLAN-SAME: bytes = 128 : i64, {{.*}} name = "net.op.c", offset = 0 : i64}
func.func private @net.op.c(%x: memref<16xf32>, %b: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %t = memref.alloc() : memref<4xf32>
    %v = memref.load %x[%i] : memref<16xf32>
    memref.store %v, %t[%c0] : memref<4xf32>
    %u = memref.load %t[%c0] : memref<4xf32>
    memref.store %u, %b[%i] : memref<32xf32>
    memref.dealloc %t : memref<4xf32>
  }
  return
}
func.func private @net.op.d(%b: memref<32xf32>, %y: memref<10xf32>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %b[%c0] : memref<32xf32>
  memref.store %v, %y[%c0] : memref<10xf32>
  return
}
func.func @net(%x: memref<16xf32> {llvm.noalias}, %y: memref<10xf32> {llvm.noalias}) {
  %b = memref.alloc() : memref<32xf32>
  call @net.op.c(%x, %b) : (memref<16xf32>, memref<32xf32>) -> ()
  call @net.op.d(%b, %y) : (memref<32xf32>, memref<10xf32>) -> ()
  memref.dealloc %b : memref<32xf32>
  return
}
