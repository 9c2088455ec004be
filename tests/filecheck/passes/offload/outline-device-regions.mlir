// RUN: xtc-opt %s --outline-device-regions | FileCheck %s

// Two operations on npu0, with an independent host operation between them, form one function: one
// call. The constant is recreated in the function.

// CHECK: func.func private @f.npu0.0(%[[A:.*]]: tensor<4xf32> {bufferization.writable = false}) -> tensor<4xf32> attributes {xtc.device = "npu0", xtc.results = 1 : i64}
// CHECK:   %[[ZERO:.*]] = arith.constant 0.0
// CHECK:   linalg.fill {xtc.device = "npu0"} ins(%[[ZERO]] : f32)
// CHECK:   linalg.exp
// CHECK:   return
// CHECK: func.func @f(
// CHECK:   linalg.abs
// CHECK:   %[[E:.*]] = call @f.npu0.0(%{{.*}}) {xtc.device = "npu0"}
// CHECK:   linalg.add ins(%[[E]],
// CHECK-NOT: linalg.exp
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %init = linalg.fill {xtc.device = "npu0"} ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %host = linalg.abs ins(%a : tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %exp = linalg.exp {xtc.device = "npu0"} ins(%a : tensor<4xf32>) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.add ins(%exp, %host : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  return %sum : tensor<4xf32>
}
