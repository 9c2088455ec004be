// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --align-vectors | FileCheck %s

#by4 = affine_map<(d0, d1) -> (d0 * 64 + d1 * 4)>
#by2 = affine_map<(d0) -> (d0 * 4 + 2)>

// CHECK-LABEL: func.func @aligned(
// CHECK:       vector.load {{.*}} {alignment = 16 : i64} : memref<64x256xf32, 1>, vector<4xf32>
// CHECK:       vector.store {{.*}} {alignment = 8 : i64} : memref<64x256xf32, 1>, vector<4xf32>
// CHECK:       vector.load {{.*}} {alignment = 4 : i64} : memref<64x256xf32, 1>, vector<4xf32>
// A row of 255 elements is not a multiple of 16 bytes.
// CHECK:       vector.load {{.*}} {alignment = 4 : i64} : memref<64x255xf32, 1>, vector<4xf32>
// CHECK:       vector.load {{.*}} {alignment = 16 : i64} : memref<255xf32, 3>, vector<4xf32>
// CHECK:       vector.load {{.*}} {alignment = 8 : i64} : memref<64x4xf16, 1>, vector<4xf16>
// CHECK:       vector.load {{.*}} {alignment = 16 : i64} : memref<4x4xf64, 1>, vector<2xf64>
func.func @aligned(%a: memref<64x256xf32, 1>, %b: memref<64x255xf32, 1>, %h: memref<64x4xf16, 1>,
                   %d: memref<4x4xf64, 1>, %i: index, %j: index)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %shared = memref.alloc() : memref<255xf32, 3>
  %by4 = affine.apply #by4(%i, %j)
  %by2 = affine.apply #by2(%j)
  scf.for %k = %c0 to %c64 step %c8 {
    %sum = arith.addi %k, %by4 : index
    %0 = vector.load %a[%i, %sum] : memref<64x256xf32, 1>, vector<4xf32>
    vector.store %0, %a[%i, %by2] : memref<64x256xf32, 1>, vector<4xf32>
    %1 = vector.load %a[%i, %j] : memref<64x256xf32, 1>, vector<4xf32>
    %2 = vector.load %b[%i, %k] : memref<64x255xf32, 1>, vector<4xf32>
    %3 = vector.load %shared[%by4] : memref<255xf32, 3>, vector<4xf32>
    %4 = vector.load %h[%i, %c0] : memref<64x4xf16, 1>, vector<4xf16>
    %5 = vector.load %d[%i, %k] : memref<4x4xf64, 1>, vector<2xf64>
  }
  return
}

// The address of a thread's private buffer is unknown; functions without a grid are not kernels.
// CHECK-LABEL: func.func @own(
// CHECK-NOT:   alignment
// CHECK-LABEL: func.func @host(
// CHECK-NOT:   alignment
func.func @own()
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  %0 = vector.load %a[%c0] : memref<8xf32>, vector<4xf32>
  return
}
func.func @host(%a: memref<8xf32, 1>) {
  %c0 = arith.constant 0 : index
  %0 = vector.load %a[%c0] : memref<8xf32, 1>, vector<4xf32>
  return
}
