// RUN: xtc-opt %s --place-operations | FileCheck %s
// RUN: not xtc-opt %s --place-operations{devices=npu1} 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// The fill moves with its only user, the reshape with the fill. Values with host users stay.

// CHECK:      tensor.expand_shape %arg0 {{.*}} {xtc.device = "npu0"}
// CHECK:      linalg.fill {xtc.device = "npu0"}
// CHECK-NOT:  linalg.fill {xtc.device
// CHECK:      linalg.fill
// CHECK:      linalg.add {xtc.device = "npu0"}

// UNKNOWN: an operation 'linalg.add' is on 'npu0', which the module does not use
// UNKNOWN: note: there are: npu1
func.func @f(%a: tensor<4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x4xf32>
  %b = tensor.expand_shape %a [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
  %mine = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x4xf32>) -> tensor<1x4xf32>
  %both = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x4xf32>) -> tensor<1x4xf32>
  %sum = linalg.add {xtc.device = "npu0"} ins(%b, %both : tensor<1x4xf32>, tensor<1x4xf32>) outs(%mine : tensor<1x4xf32>) -> tensor<1x4xf32>
  %host = linalg.exp ins(%both : tensor<1x4xf32>) outs(%empty : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %sum, %host : tensor<1x4xf32>, tensor<1x4xf32>
}

// A reshape moves to each device that reads its result, also if it was placed on another device.

// CHECK-LABEL: func.func @reshaped
// CHECK-DAG: %[[HERE:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1]] : tensor<2x2xf32>
// CHECK-DAG: %[[THERE:.*]] = tensor.collapse_shape %arg0 {{.*}} {xtc.device = "npu1"}
// CHECK: linalg.exp ins(%[[HERE]]
// CHECK: linalg.exp {xtc.device = "npu1"} ins(%[[THERE]]
func.func @reshaped(%x: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %flat = tensor.collapse_shape %x [[0, 1]] {xtc.device = "npu0"} : tensor<2x2xf32> into tensor<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %a = linalg.exp ins(%flat : tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %b = linalg.exp {xtc.device = "npu1"} ins(%flat : tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// A result on a device is reshaped there.

// CHECK-LABEL: func.func @kept
// CHECK: tensor.collapse_shape %arg0 {{.*}} {xtc.device = "npu0"}
func.func @kept(%x: tensor<2x2xf32>, %r: memref<4xf32> {memref.on_device = "npu0"}) {
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  bufferization.materialize_in_destination %flat in restrict writable %r : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
