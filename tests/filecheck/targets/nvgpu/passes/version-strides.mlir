// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --version-strides --infer-tile-layouts | FileCheck %s

// A row of %n floats may begin at any address. If %n is a multiple of 4, rows are read by 16 bytes.
// CHECK-LABEL: func.func @rows
// CHECK-SAME:  (%[[M:.*]]: i32, %[[N:.*]]: i32, %[[X:.*]]: memref<f32, 1>)
// CHECK:       %[[REST:.*]] = arith.andi %[[N]], %c3_i32 : i32
// CHECK:       %[[WHOLE:.*]] = arith.cmpi eq, %[[REST]], %{{.*}} : i32
// CHECK:       %[[BLOCKS:.*]] = arith.divsi
// CHECK:       "tile.grid"(%[[BLOCKS]],
// CHECK:       scf.if %[[WHOLE]] {
// CHECK:         %[[FOURS:.*]] = arith.andi %[[N]], %c-4_i32 : i32
// CHECK:         %[[COLUMNS:.*]] = arith.index_cast %[[FOURS]] : i32 to index
// CHECK:         memref.reinterpret_cast %[[X]] to offset: [0], sizes: [%{{.*}}, %[[COLUMNS]]], strides: [%[[COLUMNS]], 1]
// CHECK:         "tile.load_global"{{.*}} -> tensor<8x64xf32, #tile.layout<"shape(8,64) modes(4,2,16,4) spatial(1,2) local(0,3)">>
// CHECK-NOT:     tile.grid
// CHECK:       } else {
// CHECK:         %[[ANY:.*]] = arith.index_cast %[[N]] : i32 to index
// CHECK:         memref.reinterpret_cast %[[X]] to offset: [0], sizes: [%{{.*}}, %[[ANY]]], strides: [%[[ANY]], 1]
// CHECK:         "tile.load_global"{{.*}} -> tensor<8x64xf32, #tile.layout<"shape(8,64) modes(8,2,32) spatial(2) local(0,1)">>
// CHECK-NOT:   tile.grid
// CHECK:       return
func.func @rows(%m: i32, %n: i32, %p: memref<f32, 1>) attributes {xtc.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %blocks = arith.divsi %m, %c8 : i32
  "tile.grid"(%blocks, %c1, %c1) : (i32, i32, i32) -> ()
  %rows = arith.index_cast %m : i32 to index
  %columns = arith.index_cast %n : i32 to index
  %x = memref.reinterpret_cast %p to offset: [0], sizes: [%rows, %columns], strides: [%columns, 1]
    : memref<f32, 1> to memref<?x?xf32, strided<[?, 1]>, 1>
  %b = "tile.block_id"() {dim = 0 : i64} : () -> i32
  %i = arith.muli %b, %c8 : i32
  %t = "tile.load_global"(%x, %i, %c0) {dims = array<i64: 0, 1>}
    : (memref<?x?xf32, strided<[?, 1]>, 1>, i32, i32) -> tensor<8x64xf32>
  "tile.store_global"(%t, %x, %i, %c0) {dims = array<i64: 0, 1>}
    : (tensor<8x64xf32>, memref<?x?xf32, strided<[?, 1]>, 1>, i32, i32) -> ()
  return
}

// Rows begin at multiples of 16 bytes, whatever their length: there is one body.
// CHECK-LABEL: func.func @vector
// CHECK-NOT:   scf.if
// CHECK:       "tile.load_global"{{.*}} -> tensor<128xf32, #tile.layout<"shape(128) modes(32,4) spatial(0) local(1)">>
func.func @vector(%n: i32, %p: memref<f32, 1>) attributes {xtc.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %size = arith.index_cast %n : i32 to index
  %x = memref.reinterpret_cast %p to offset: [0], sizes: [%size], strides: [1]
    : memref<f32, 1> to memref<?xf32, strided<[1]>, 1>
  %t = "tile.load_global"(%x, %c0) {dims = array<i64: 0>}
    : (memref<?xf32, strided<[1]>, 1>, i32) -> tensor<128xf32>
  "tile.store_global"(%t, %x, %c0) {dims = array<i64: 0>}
    : (tensor<128xf32>, memref<?xf32, strided<[1]>, 1>, i32) -> ()
  return
}

// An assumption of the kernel makes a second body unnecessary.
// CHECK-LABEL: func.func @assumed
// CHECK-NOT:   scf.if
// CHECK:       "tile.load_global"{{.*}} -> tensor<8x64xf32, #tile.layout<"shape(8,64) modes(4,2,16,4) spatial(1,2) local(0,3)">>
func.func @assumed(%n: i32, %p: memref<f32, 1>) attributes {xtc.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %rest = arith.remsi %n, %c4 : i32
  %holds = arith.cmpi eq, %rest, %c0 : i32
  "tile.assume"(%holds) : (i1) -> ()
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %columns = arith.index_cast %n : i32 to index
  %x = memref.reinterpret_cast %p to offset: [0], sizes: [8, %columns], strides: [%columns, 1]
    : memref<f32, 1> to memref<8x?xf32, strided<[?, 1]>, 1>
  %t = "tile.load_global"(%x, %c0, %c0) {dims = array<i64: 0, 1>}
    : (memref<8x?xf32, strided<[?, 1]>, 1>, i32, i32) -> tensor<8x64xf32>
  "tile.store_global"(%t, %x, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<8x64xf32>, memref<8x?xf32, strided<[?, 1]>, 1>, i32, i32) -> ()
  return
}

// A thread has two neighbors of an accumulator: their store alone does not justify a second body.
// CHECK-LABEL: func.func @accumulators
// CHECK-NOT:   scf.if
// CHECK:       return
func.func @accumulators(%n: i32, %p: memref<f32, 1>) attributes {xtc.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %sa = memref.alloc() : memref<16x16xf16, 2>
  %sb = memref.alloc() : memref<16x8xf16, 2>
  %a = "tile.load_shared"(%sa) : (memref<16x16xf16, 2>) -> tensor<16x16xf16>
  %b = "tile.load_shared"(%sb) : (memref<16x8xf16, 2>) -> tensor<16x8xf16>
  %c = arith.constant dense<0.0> : tensor<16x8xf32>
  %d = "tile.dot"(%a, %b, %c)
    : (tensor<16x16xf16>, tensor<16x8xf16>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %columns = arith.index_cast %n : i32 to index
  %x = memref.reinterpret_cast %p to offset: [0], sizes: [16, %columns], strides: [%columns, 1]
    : memref<f32, 1> to memref<16x?xf32, strided<[?, 1]>, 1>
  "tile.store_global"(%d, %x, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<16x8xf32>, memref<16x?xf32, strided<[?, 1]>, 1>, i32, i32) -> ()
  return
}
