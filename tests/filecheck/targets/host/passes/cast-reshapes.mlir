// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --cast-reshapes | FileCheck %s
// RUN: xtc-opt %s --cast-reshapes --fold-memref-alias-ops --canonicalize | FileCheck %s --check-prefix=FOLDED

// Joined dimensions of a dense buffer have separate strides: no index is divided.

// CHECK-LABEL: func.func @heads
// CHECK: %[[ROWS:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [128, 768], strides: [768, 1] : memref<128x12x64xf32> to memref<128x768xf32>
// CHECK: memref.load %[[ROWS]][%{{.*}}, %{{.*}}] : memref<128x768xf32>
// FOLDED-LABEL: func.func @heads
// FOLDED-NOT: affine
// FOLDED: memref.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<128x768xf32>
func.func @heads(%heads: memref<128x12x64xf32>, %i: index, %k: index) -> f32 {
  %rows = memref.collapse_shape %heads [[0], [1, 2]] : memref<128x12x64xf32> into memref<128x768xf32>
  %x = memref.load %rows[%i, %k] : memref<128x768xf32>
  return %x : f32
}

// A column of a matrix, and reshapes to more dimensions, are unchanged.

// CHECK-LABEL: func.func @others
// CHECK: memref.collapse_shape
// CHECK: memref.expand_shape
// CHECK-NOT: memref.reinterpret_cast
func.func @others(%column: memref<4x8x1xf32, strided<[80, 10, 1]>>, %row: memref<64xf32>, %i: index) -> (f32, f32) {
  %line = memref.collapse_shape %column [[0, 1, 2]] : memref<4x8x1xf32, strided<[80, 10, 1]>> into memref<32xf32, strided<[10]>>
  %square = memref.expand_shape %row [[0, 1]] output_shape [8, 8] : memref<64xf32> into memref<8x8xf32>
  %x = memref.load %line[%i] : memref<32xf32, strided<[10]>>
  %y = memref.load %square[%i, %i] : memref<8x8xf32>
  return %x, %y : f32, f32
}
