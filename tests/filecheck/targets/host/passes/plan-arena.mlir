// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --plan-arena | FileCheck %s

// The third buffer reuses the offset of the first one, which is no longer read, also through a view.
// Offsets are aligned to cache lines. The size equals the most bytes that are live at once.

// CHECK-LABEL: func.func @net(
// CHECK: %[[ARENA:.*]] = memref.alloc() {alignment = 64 : i64, xtc.arena = array<i64: 192, 192>} : memref<192xi8>
// CHECK: %[[A:.*]] = memref.view %[[ARENA]][%c0][] : memref<192xi8> to memref<20xf32>
// CHECK: %[[B:.*]] = memref.view %[[ARENA]][%c128][] : memref<192xi8> to memref<16xf32>
// CHECK: call @net.kernel.b(
// CHECK: %[[C:.*]] = memref.view %[[ARENA]][%c0][] : memref<192xi8> to memref<20xf32>
// CHECK: call @net.kernel.c(%[[B]], %[[C]])
func.func @net(%x: memref<16xf32>) {
  %a = memref.alloc() {alignment = 64 : i64} : memref<20xf32>
  %b = memref.alloc() {alignment = 64 : i64} : memref<16xf32>
  %part = memref.subview %a[0] [16] [1] : memref<20xf32> to memref<16xf32, strided<[1]>>
  call @net.kernel.a(%x, %a) {xtc.node = "a"} : (memref<16xf32>, memref<20xf32>) -> ()
  call @net.kernel.b(%part, %b) {xtc.node = "b"} : (memref<16xf32, strided<[1]>>, memref<16xf32>) -> ()
  %c = memref.alloc() {alignment = 64 : i64} : memref<20xf32>
  call @net.kernel.c(%b, %c) {xtc.node = "c"} : (memref<16xf32>, memref<20xf32>) -> ()
  return
}
func.func private @net.kernel.a(memref<16xf32>, memref<20xf32>)
func.func private @net.kernel.b(memref<16xf32, strided<[1]>>, memref<16xf32>)
func.func private @net.kernel.c(memref<16xf32>, memref<20xf32>)

// A function without kernels keeps its allocations.

// CHECK-LABEL: func.func @few(
// CHECK-NOT: memref.view
func.func @few(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  return
}
