// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --infer-tile-layouts | FileCheck %s

// Accumulators of mma.sync are distributed over 4 warps, two by two; operands follow them.
// CHECK-LABEL: func.func @dot
// CHECK:       %[[A:.*]] = "tile.load_shared"{{.*}} -> tensor<64x32xf16, #tile.layout<"shape(64,32) modes(2,2,2,8,4,4,2) spatial(0,-2,3,5) local(1,4,2,6)">>
// CHECK:       %[[B:.*]] = "tile.load_shared"{{.*}} -> tensor<32x64xf16, #tile.layout<"shape(32,64) modes(2,2,4,2,2,4,8) spatial(-2,4,6,2) local(0,5,1,3)">>
// CHECK:       "tile.dot"(%[[A]], %[[B]], %{{.*}} -> tensor<64x64xf32, #tile.layout<"shape(64,64) modes(2,2,2,8,2,4,4,2) spatial(0,4,3,6) local(1,5,2,7)">>
// No conversion: the result is stored in its layout.
// CHECK-NOT:   tile.convert_layout
// CHECK:       "tile.store_global"(%{{.*}} : (tensor<64x64xf32, #tile.layout<"shape(64,64) modes(2,2,2,8,2,4,4,2) spatial(0,4,3,6) local(1,5,2,7)">>
func.func @dot(%out: memref<f32, 1>) attributes {xtc.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c = arith.constant dense<0.0> : tensor<64x64xf32>
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %sa = memref.alloc() : memref<64x32xf16, 2>
  %sb = memref.alloc() : memref<32x64xf16, 2>
  %a = "tile.load_shared"(%sa) : (memref<64x32xf16, 2>) -> tensor<64x32xf16>
  %b = "tile.load_shared"(%sb) : (memref<32x64xf16, 2>) -> tensor<32x64xf16>
  %d = "tile.dot"(%a, %b, %c)
    : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = memref.reinterpret_cast %out to offset: [0], sizes: [64, 64], strides: [64, 1]
    : memref<f32, 1> to memref<64x64xf32, strided<[64, 1]>, 1>
  "tile.store_global"(%d, %g, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<64x64xf32>, memref<64x64xf32, strided<[64, 1]>, 1>, i32, i32) -> ()
  return
}

// A tile with two uses gets two layouts: one for loads of 16 bytes, one for the multiplication.
// CHECK-LABEL: func.func @both
// CHECK:       %[[X:.*]] = "tile.load_global"{{.*}} -> tensor<16x16xf16, #tile.layout<"shape(16,16) modes(16,2,8) spatial(0,1) local(2)">>
// CHECK:       "tile.store_global"(%[[X]],
// CHECK:       %[[A:.*]] = "tile.convert_layout"(%[[X]])
// CHECK:       %[[B:.*]] = "tile.convert_layout"(%[[X]])
// CHECK:       "tile.dot"(%[[A]], %[[B]],
func.func @both(%in: memref<f16, 1>, %out: memref<f16, 1>) attributes {xtc.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %c = arith.constant dense<0.0> : tensor<16x16xf32>
  %g = memref.reinterpret_cast %in to offset: [0], sizes: [16, 16], strides: [16, 1]
    : memref<f16, 1> to memref<16x16xf16, strided<[16, 1]>, 1>
  %h = memref.reinterpret_cast %out to offset: [0], sizes: [16, 16], strides: [16, 1]
    : memref<f16, 1> to memref<16x16xf16, strided<[16, 1]>, 1>
  %x = "tile.load_global"(%g, %c0, %c0) {dims = array<i64: 0, 1>}
    : (memref<16x16xf16, strided<[16, 1]>, 1>, i32, i32) -> tensor<16x16xf16>
  %layout = "tile.annotate_layout"(%x)
    {layout = "shape(16,16) modes(16,2,8) spatial(0,1) local(2)"} : (tensor<16x16xf16>) -> tensor<16x16xf16>
  "tile.store_global"(%layout, %h, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<16x16xf16>, memref<16x16xf16, strided<[16, 1]>, 1>, i32, i32) -> ()
  %d = "tile.dot"(%x, %x, %c)
    : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %n = arith.truncf %d : tensor<16x16xf32> to tensor<16x16xf16>
  "tile.store_global"(%n, %h, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<16x16xf16>, memref<16x16xf16, strided<[16, 1]>, 1>, i32, i32) -> ()
  return
}

// A layout that a type already has is kept, and results computed from it have the same layout.
// CHECK-LABEL: func.func @given
// CHECK:       "tile.load_shared"{{.*}} -> tensor<8x32xf16, #tile.layout<"shape(8,32) modes(8,32) spatial(1) local(0)">>
// CHECK:       arith.addf %{{.*}} : tensor<8x32xf16, #tile.layout<"shape(8,32) modes(8,32) spatial(1) local(0)">>
func.func @given(%out: memref<f16, 1>) attributes {xtc.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %h = memref.reinterpret_cast %out to offset: [0], sizes: [8, 32], strides: [32, 1]
    : memref<f16, 1> to memref<8x32xf16, strided<[32, 1]>, 1>
  %s = memref.alloc() : memref<8x32xf16, 2>
  %x = "tile.load_shared"(%s) : (memref<8x32xf16, 2>) -> tensor<8x32xf16, #tile.layout<"shape(8,32) modes(8,32) spatial(1) local(0)">>
  %y = builtin.unrealized_conversion_cast %x : tensor<8x32xf16, #tile.layout<"shape(8,32) modes(8,32) spatial(1) local(0)">> to tensor<8x32xf16>
  %z = arith.addf %y, %y : tensor<8x32xf16>
  "tile.store_global"(%z, %h, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<8x32xf16>, memref<8x32xf16, strided<[32, 1]>, 1>, i32, i32) -> ()
  return
}

// Sizes that are not multiples of those of mma.sync are padded; the result is the same.
// CHECK-LABEL: func.func @padded
// CHECK:       "tile.dot"
// CHECK-SAME:  xtc.k_step = 16
// CHECK-SAME:  (tensor<17x24xf16, #tile.layout<"shape(32,32)
// CHECK-SAME:  -> tensor<17x15xf32, #tile.layout<"shape(32,16)
func.func @padded() attributes {xtc.warps = 1 : i64} {
  %sa = memref.alloc() : memref<17x24xf16, 2>
  %a = "tile.load_shared"(%sa) : (memref<17x24xf16, 2>) -> tensor<17x24xf16>
  %sb = memref.alloc() : memref<24x15xf16, 2>
  %b = "tile.load_shared"(%sb) : (memref<24x15xf16, 2>) -> tensor<24x15xf16>
  %sc = memref.alloc() : memref<17x15xf32, 2>
  %c = "tile.load_shared"(%sc) : (memref<17x15xf32, 2>) -> tensor<17x15xf32>
  %d = "tile.dot"(%a, %b, %c)
    : (tensor<17x24xf16>, tensor<24x15xf16>, tensor<17x15xf32>) -> tensor<17x15xf32>
  return
}

// Threads have about as many rows as columns of the result, so that they need few operands.
// CHECK-LABEL: func.func @by_threads
// CHECK:       "tile.dot"
// CHECK-NOT:   xtc.k_step
// CHECK-SAME:  -> tensor<32x63xf32, #tile.layout<"shape(32,64)
func.func @by_threads() attributes {xtc.warps = 2 : i64} {
  %sa = memref.alloc() : memref<32x5xf32, 2>
  %a = "tile.load_shared"(%sa) : (memref<32x5xf32, 2>) -> tensor<32x5xf32>
  %sb = memref.alloc() : memref<5x63xf32, 2>
  %b = "tile.load_shared"(%sb) : (memref<5x63xf32, 2>) -> tensor<5x63xf32>
  %sc = memref.alloc() : memref<32x63xf32, 2>
  %c = "tile.load_shared"(%sc) : (memref<32x63xf32, 2>) -> tensor<32x63xf32>
  %d = "tile.dot"(%a, %b, %c)
    : (tensor<32x5xf32>, tensor<5x63xf32>, tensor<32x63xf32>) -> tensor<32x63xf32>
  return
}

// If no layout fits both shapes, elements move between threads.
// CHECK-LABEL: func.func @reshaped
// CHECK-NOT:   tile.reshape
// CHECK:       "tile.convert_layout"{{.*}} : (tensor<31x7xf32, #tile.layout<"shape(32,7) modes(32,7) spatial(0) local(1)">>) -> tensor<7x31xf32, #tile.layout<"shape(7,32) modes(7,32) spatial(1) local(0)">>
func.func @reshaped() attributes {xtc.warps = 1 : i64} {
  %sa = memref.alloc() : memref<31x7xf32, 2>
  %a = "tile.load_shared"(%sa) : (memref<31x7xf32, 2>) -> tensor<31x7xf32>
  %d = "tile.reshape"(%a) : (tensor<31x7xf32>) -> tensor<7x31xf32>
  return
}
