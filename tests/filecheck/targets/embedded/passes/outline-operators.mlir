// RUN: xtc-opt %s --outline-operators | FileCheck %s
// RUN: xtc-opt %s '--outline-operators{small=true}' | FileCheck %s --check-prefix=SMALL
// SMALL: passthrough = ["noinline", "nounwind", "optsize"]

// Operations of a node form one function; a copy without a node joins the previous one.
// CHECK-LABEL: func.func private @net.op.c(
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: memref<8xf32> {llvm.noalias}
// CHECK-SAME:    passthrough = ["noinline", "nounwind"]
// CHECK-SAME:    xtc.node = "c"
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.0
// CHECK-DAG:     %[[W:.*]] = memref.get_global @w
// CHECK:         linalg.fill {__xtc_id_c.init_} ins(%[[ZERO]] : f32) outs(%[[Y]]
// CHECK:         linalg.add {__xtc_id_c_}
// CHECK:         memref.copy
// CHECK:         return
// CHECK-LABEL: func.func private @net.op.d(
// CHECK:         scf.for
// CHECK-LABEL: func.func @net(
// CHECK:         %[[A:.*]] = memref.alloc()
// CHECK:         call @net.op.c(%[[A]], 
// CHECK:         call @net.op.d(
memref.global constant @w : memref<8xf32> = dense<1.0>
func.func @net(%x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %w = memref.get_global @w : memref<8xf32>
  %a = memref.alloc() : memref<8xf32>
  linalg.fill {__xtc_id_c.init_} ins(%zero : f32) outs(%a : memref<8xf32>)
  linalg.add {__xtc_id_c_} ins(%x, %w : memref<8xf32>, memref<8xf32>) outs(%a : memref<8xf32>)
  memref.copy %a, %y : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %zero, %y[%i] : memref<8xf32>
  } {xtc.node = "d"}
  return
}
