// RUN: xtc-opt %s --apply-schedules --canonicalize --cse | FileCheck %s

// Two functions have a node P. In the first it is fused into its reader; a schedule of the P in the
// second does not conflict with that.

// CHECK-LABEL: func.func @fused
// CHECK: scf.for
// CHECK:   linalg.exp
// CHECK:   math.absf
// CHECK: } {"./i"}
// CHECK-LABEL: func.func @scheduled
// CHECK: scf.for
// CHECK:   math.exp
// CHECK: } {"./i"}
func.func @fused(%x: tensor<8xf32>) -> tensor<8xf32> {
  %empty = tensor.empty() : tensor<8xf32>
  %p = linalg.exp {__xtc_id_P_} ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %c = linalg.abs {__xtc_id_C_, loop.dims = ["i"], loop.schedule = "{i: {fuse: [0]}}"}
    ins(%p : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

func.func @scheduled(%x: tensor<8xf32>) -> tensor<8xf32> {
  %empty = tensor.empty() : tensor<8xf32>
  %p = linalg.exp {__xtc_id_P_, loop.dims = ["i"], loop.schedule = "{i: {}}"}
    ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  return %p : tensor<8xf32>
}
