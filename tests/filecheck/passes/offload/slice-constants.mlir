// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --slice-constants | FileCheck %s

// Each slice that a device reads is a constant; the module records the view that it is.

// CHECK: module attributes {xtc.packed =
// CHECK-SAME: w.slice0 = [@w, memref<4x2xf32, strided<[8, 2], offset: 1>>]
// CHECK-SAME: w.slice1 = [@w, memref<8x4xf32, strided<[1, 8]>>]
// CHECK-SAME: w.slice2 = [@w, memref<2x8xf32, strided<[8, 1]>>]

// CHECK-NOT: @w :
// CHECK-DAG: memref.global constant @w.slice0 : memref<4x2xf32> {alignment = 64 : i64}
// CHECK-DAG: memref.global constant @w.slice1 : memref<8x4xf32>
// CHECK-DAG: memref.global constant @w.slice2 : memref<2x8xf32>
memref.global constant @w : memref<4x8xf32> {alignment = 64 : i64}
// CHECK-DAG: memref.global constant @v : memref<4x8xf32>
memref.global constant @v : memref<4x8xf32> {alignment = 64 : i64}

func.func private @k(memref<4x2xf32>, memref<4x2xf32>) attributes {xtc.device = "npu0", xtc.results = 1 : i64}
func.func private @t(memref<8x4xf32>, memref<4x2xf32>) attributes {xtc.device = "npu0", xtc.results = 1 : i64}
func.func private @r(memref<2x8xf32>, memref<4x2xf32>) attributes {xtc.device = "npu0", xtc.results = 1 : i64}

// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = memref.get_global @w.slice0
// CHECK: call @k(%[[A]], %arg0)
// CHECK: %[[B:.*]] = memref.get_global @w.slice1
// CHECK: call @t(%[[B]], %arg0)
// CHECK: %[[C:.*]] = memref.get_global @w.slice2
// CHECK: call @r(%[[C]], %arg0)
func.func @main(%r: memref<4x2xf32>) {
  %w = memref.get_global @w : memref<4x8xf32>
  %columns = memref.subview %w[0, 1] [4, 2] [1, 2] : memref<4x8xf32> to memref<4x2xf32, strided<[8, 2], offset: 1>>
  %a = memref.alloc() : memref<4x2xf32>
  memref.copy %columns, %a : memref<4x2xf32, strided<[8, 2], offset: 1>> to memref<4x2xf32>
  call @k(%a, %r) : (memref<4x2xf32>, memref<4x2xf32>) -> ()
  %b = memref.alloc() : memref<8x4xf32>
  linalg.transpose ins(%w : memref<4x8xf32>) outs(%b : memref<8x4xf32>) permutation = [1, 0]
  call @t(%b, %r) : (memref<8x4xf32>, memref<4x2xf32>) -> ()
  %rows = memref.subview %w[0, 0] [2, 8] [1, 1] : memref<4x8xf32> to memref<2x8xf32, strided<[8, 1]>>
  %c = memref.cast %rows : memref<2x8xf32, strided<[8, 1]>> to memref<2x8xf32>
  call @r(%c, %r) : (memref<2x8xf32>, memref<4x2xf32>) -> ()
  return
}

// Slices that only the host reads, and buffers that are written again, are unchanged.

// CHECK-LABEL: func.func @host
// CHECK: %[[V:.*]] = memref.get_global @v
// CHECK: memref.copy %{{.*}}, %arg0
// CHECK: memref.copy %{{.*}}, %[[A:.*]] :
// CHECK: call @k(%[[A]], %[[A]])
func.func @host(%r: memref<4x2xf32>) {
  %v = memref.get_global @v : memref<4x8xf32>
  %columns = memref.subview %v[0, 1] [4, 2] [1, 2] : memref<4x8xf32> to memref<4x2xf32, strided<[8, 2], offset: 1>>
  memref.copy %columns, %r : memref<4x2xf32, strided<[8, 2], offset: 1>> to memref<4x2xf32>
  %a = memref.alloc() : memref<4x2xf32>
  memref.copy %columns, %a : memref<4x2xf32, strided<[8, 2], offset: 1>> to memref<4x2xf32>
  call @k(%a, %a) : (memref<4x2xf32>, memref<4x2xf32>) -> ()
  return
}
