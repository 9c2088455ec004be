// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --widen-dot-operands | FileCheck %s

// float8_e4m3 has a NaN, float8_e5m2 has infinities, too; float16 represents all their numbers.
// CHECK-LABEL: func.func @floats
// CHECK:       %[[CODE:.*]] = arith.extui %arg0 : tensor<16x32xi8> to tensor<16x32xi32>
// CHECK:       %[[SIZE:.*]] = arith.andi %[[CODE]]
// CHECK:       %[[BITS:.*]] = arith.shli %[[SIZE]]
// CHECK:       %[[VALUE:.*]] = arith.bitcast %[[BITS]] : tensor<16x32xi32> to tensor<16x32xf32>
// CHECK:       arith.mulf %[[VALUE]]
// CHECK:       arith.cmpi eq, %[[SIZE]]
// CHECK:       %[[A:.*]] = arith.truncf {{.*}} to tensor<16x32xf16>
// CHECK:       arith.cmpi uge
// CHECK:       %[[B:.*]] = arith.truncf {{.*}} to tensor<32x8xf16>
// CHECK:       "tile.dot"(%[[A]], %[[B]], %arg2) :
func.func @floats(%a: tensor<16x32xi8>, %b: tensor<32x8xi8>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %d = "tile.dot"(%a, %b, %c) {codes = ["float8_e4m3", "float8_e5m2"]}
    : (tensor<16x32xi8>, tensor<32x8xi8>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %d : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @bytes
// CHECK-NEXT:  %[[A:.*]] = arith.extui %arg0 : tensor<16x32xi8> to tensor<16x32xi32>
// CHECK-NEXT:  %[[B:.*]] = arith.extui %arg1 : tensor<32x8xi8> to tensor<32x8xi32>
// CHECK-NEXT:  "tile.dot"(%[[A]], %[[B]], %arg2) :
func.func @bytes(%a: tensor<16x32xi8>, %b: tensor<32x8xi8>, %c: tensor<16x8xi32>) -> tensor<16x8xi32> {
  %d = "tile.dot"(%a, %b, %c) {codes = ["uint8", "uint8"]}
    : (tensor<16x32xi8>, tensor<32x8xi8>, tensor<16x8xi32>) -> tensor<16x8xi32>
  return %d : tensor<16x8xi32>
}

// CHECK-LABEL: func.func @signed
// CHECK-NEXT:  "tile.dot"(%arg0, %arg1, %arg2)
func.func @signed(%a: tensor<16x32xi8>, %b: tensor<32x8xi8>, %c: tensor<16x8xi32>) -> tensor<16x8xi32> {
  %d = "tile.dot"(%a, %b, %c) : (tensor<16x32xi8>, tensor<32x8xi8>, tensor<16x8xi32>) -> tensor<16x8xi32>
  return %d : tensor<16x8xi32>
}
