// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --start-transfers --copy-by-bursts --canonicalize --cse | FileCheck %s
// RUN: xtc-opt %s --start-transfers --copy-by-bursts{burst-bytes=64} --canonicalize --cse | FileCheck %s --check-prefix=SHORT

// A contiguous buffer of 4800 bytes is two bursts of 2048 and the rest; the engine copies rows with gaps one by one.

// CHECK-LABEL: func.func @bursts
// CHECK:       scf.for %[[N:.*]] = %c0 to %c3 step %c1 {
// CHECK:         %[[DONE:.*]] = arith.muli %[[N]], %c512
// CHECK:         %[[LEFT:.*]] = arith.subi %c1200, %[[DONE]]
// CHECK:         %[[NUMBER:.*]] = arith.minsi %[[LEFT]], %c512
// CHECK:         %[[BYTES:.*]] = arith.muli %[[NUMBER]], %c4
// CHECK:         %[[LENGTH:.*]] = arith.index_cast %[[BYTES]] : index to i64
// CHECK:         "llvm.intr.memcpy"(%{{.*}}, %{{.*}}, %[[LENGTH]])
// CHECK-NOT:   memref.dma_wait
// CHECK:       scf.for %{{.*}} = %c0 to %c3 step %c1 {
// CHECK:         "llvm.intr.memcpy"(%{{.*}}, %{{.*}}, %c20_i64)

// Rows of 20 bytes fit into a burst of 64; 4800 bytes are 75 of them, none of which is shorter.
// SHORT-LABEL: func.func @bursts
// SHORT:       scf.for %{{.*}} = %c0 to %c75 step %c1 {
// SHORT-NOT:     arith.minsi
// SHORT:         "llvm.intr.memcpy"(%{{.*}}, %{{.*}}, %c64_i64)
// SHORT:         "llvm.intr.memcpy"(%{{.*}}, %{{.*}}, %c20_i64)
func.func @bursts(%A: memref<1200xf32, 1>, %B: memref<8x8xf32, 1>) {
  %a = memref.alloc() : memref<1200xf32, 2>
  memref.copy %A, %a : memref<1200xf32, 1> to memref<1200xf32, 2>
  %b = memref.alloc() : memref<3x5xf32, 2>
  %v = memref.subview %B[2, 2] [3, 5] [1, 1] : memref<8x8xf32, 1> to memref<3x5xf32, strided<[8, 1], offset: 18>, 1>
  memref.copy %b, %v : memref<3x5xf32, 2> to memref<3x5xf32, strided<[8, 1], offset: 18>, 1>
  return
}
