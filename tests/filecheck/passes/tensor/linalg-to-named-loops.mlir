// RUN: xtc-opt %s --linalg-to-named-loops | FileCheck %s

// Loops have paths like scheduled ones, and the outermost loop names the node that it computes.

// CHECK-LABEL: func.func @fill
// CHECK: scf.for
// CHECK:   scf.for
// CHECK:     memref.store
// CHECK:   } {"./j"}
// CHECK: } {"./i", xtc.node = "c"}
func.func @fill(%c: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill {__xtc_id_c_, loop.dims = ["i", "j"]} ins(%zero : f32) outs(%c : memref<8x4xf32>)
  return
}
