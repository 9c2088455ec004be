// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --outline-kernels{at-least=3} | FileCheck %s

// Two layers differ only in their weights: one function, called twice. It contains the initialization
// of the sum, and its constants are arguments with known alignment.

// CHECK-LABEL: func.func private @net.kernel.zero(
// CHECK-LABEL: func.func private @net.kernel.a(
// CHECK-SAME: memref<4x8xf32> {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: linalg.fill
// CHECK: linalg.matmul
// CHECK-LABEL: func.func private @net.kernel.c(
// CHECK: linalg.exp
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @net(
// CHECK-DAG: %[[W:.*]] = memref.get_global @w
// CHECK-DAG: %[[V:.*]] = memref.get_global @v
// CHECK: call @net.kernel.a({{.*}}%[[W]]) {xtc.node = "a"}
// CHECK: call @net.kernel.a({{.*}}%[[V]]) {xtc.node = "b"}
// CHECK: call @net.kernel.c({{.*}}) {xtc.node = "c"}
memref.global constant @w : memref<8x8xf32> {alignment = 64 : i64}
memref.global constant @v : memref<8x8xf32> {alignment = 64 : i64}
func.func @net(%x: memref<4x8xf32> {llvm.noalias}, %y: memref<4x8xf32> {llvm.noalias}) {
  %zero = arith.constant 0.0 : f32
  %w = memref.get_global @w : memref<8x8xf32>
  %v = memref.get_global @v : memref<8x8xf32>
  %first = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
  %second = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
  %third = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
  linalg.exp {__xtc_id_zero_} ins(%x : memref<4x8xf32>) outs(%first : memref<4x8xf32>)
  linalg.fill {__xtc_id_a.init_} ins(%zero : f32) outs(%second : memref<4x8xf32>)
  linalg.matmul {__xtc_id_a_} ins(%first, %w : memref<4x8xf32>, memref<8x8xf32>)
    outs(%second : memref<4x8xf32>)
  linalg.fill {__xtc_id_b.init_} ins(%zero : f32) outs(%third : memref<4x8xf32>)
  linalg.matmul {__xtc_id_b_} ins(%second, %v : memref<4x8xf32>, memref<8x8xf32>)
    outs(%third : memref<4x8xf32>)
  linalg.exp {__xtc_id_c_} ins(%third : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
  return
}

// Few operators are not outlined.

// CHECK-LABEL: func.func @few(
// CHECK: linalg.exp
func.func @few(%x: memref<4xf32> {llvm.noalias}, %y: memref<4xf32> {llvm.noalias}) {
  linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// Nor are these parts of one operator outlined separately.

// CHECK-LABEL: func.func @parts(
// CHECK-NOT: call
// CHECK: return
func.func @parts(%x: memref<4xf32> {llvm.noalias}, %y: memref<4xf32> {llvm.noalias}) {
  linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.exp ins(%y : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.exp ins(%y : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// The padding of a convolution belongs to the loops that compute it and what follows.

// CHECK-LABEL: func.func @padded(
// CHECK: call @padded.kernel.conv({{.*}}) {xtc.node = "relu", xtc.nodes = ["conv"]}
// CHECK: call @padded.kernel.x({{.*}}) {xtc.node = "x"}
// CHECK: call @padded.kernel.relu({{.*}}) {xtc.node = "relu", xtc.nodes = ["relu", "conv"]}
func.func @padded(%x: memref<4x8xf32> {llvm.noalias}, %y: memref<4x8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %first = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
  %pad = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
  linalg.fill {__xtc_id_conv.pad_} ins(%zero : f32) outs(%pad : memref<4x8xf32>)
  linalg.exp {__xtc_id_x_} ins(%x : memref<4x8xf32>) outs(%first : memref<4x8xf32>)
  scf.for %i = %c0 to %c1 step %c1 {
    linalg.max {__xtc_id_conv_} ins(%pad, %first : memref<4x8xf32>, memref<4x8xf32>)
      outs(%y : memref<4x8xf32>)
    linalg.exp {__xtc_id_relu_} ins(%y : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
  } {__xtc_id_relu_}
  return
}

// Buffers on a device are left to other passes.

// CHECK-LABEL: func.func @device(
// CHECK-COUNT-3: linalg.exp
func.func @device(%x: memref<4xf32> {memref.on_device}, %y: memref<4xf32>) {
  linalg.exp {__xtc_id_a_} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.exp {__xtc_id_b_} ins(%y : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.exp {__xtc_id_c_} ins(%y : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// A vector that was computed before passes through the stack: it may be wider than a register.

// CHECK-LABEL: func.func private @wide.kernel.1(
// CHECK-SAME: memref<24xf32> {llvm.noalias}
// CHECK: %[[V:.*]] = vector.transfer_read
// CHECK: scf.for
// CHECK: vector.transfer_write %[[V]]
// CHECK-LABEL: func.func @wide(
// CHECK: %[[A:.*]] = memref.alloca() : memref<24xf32>
// CHECK: vector.transfer_write %{{.*}}, %[[A]]
// CHECK: call @wide.kernel.1({{.*}}%[[A]]
func.func @wide(%x: memref<5x24xf32> {llvm.noalias}, %y: memref<4xf32> {llvm.noalias}, %s: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  linalg.exp {__xtc_id_b_} ins(%y : memref<4xf32>) outs(%y : memref<4xf32>)
  %v = vector.broadcast %s : f32 to vector<24xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    vector.transfer_write %v, %x[%i, %c0] {in_bounds = [true]} : vector<24xf32>, memref<5x24xf32>
  } {xtc.node = "a"}
  linalg.exp {__xtc_id_c_} ins(%y : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}
