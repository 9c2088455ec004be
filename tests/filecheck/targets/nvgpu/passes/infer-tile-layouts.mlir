// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --infer-tile-layouts | FileCheck %s

// Accumulators of mma.sync lie over 4 warps, two by two; operands follow them.
// CHECK-LABEL: func.func @dot
// CHECK:       %[[A:.*]] = "tile.load_shared"{{.*}} -> tensor<64x32xf16, #tile.layout<"shape(64,32) modes(2,2,2,8,4,4,2) spatial(0,-2,3,5) local(1,4,2,6)">>
// CHECK:       %[[B:.*]] = "tile.load_shared"{{.*}} -> tensor<32x64xf16, #tile.layout<"shape(32,64) modes(2,2,4,2,2,4,8) spatial(-2,4,6,2) local(0,5,1,3)">>
// CHECK:       "tile.dot"(%[[A]], %[[B]], %{{.*}} -> tensor<64x64xf32, #tile.layout<"shape(64,64) modes(2,2,2,8,2,4,4,2) spatial(0,4,3,6) local(1,5,2,7)">>
// No conversion: the result is stored as it lies.
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

// A tile that goes two ways gets two layouts: as it is read, by 16 bytes, and as it is multiplied.
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

// A layout that a type has already stays, and what is computed from it has the same.
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
