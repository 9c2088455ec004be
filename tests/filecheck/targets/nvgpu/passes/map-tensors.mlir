// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --map-tensors | FileCheck %s
// RUN: not xtc-opt %s '--map-tensors{bulk=false}' 2>&1 | FileCheck %s --check-prefix=OLD

// RUN: xtc-opt %s '--map-tensors{by-launch=true}' | FileCheck %s --check-prefix=LAUNCH

// A launch creates the tensor map: the argument, float16, 2 bytes per element, rank, swizzle, offset in
// bytes; sizes, strides and box, the contiguous dimension first.
// LAUNCH-LABEL: func.func @copy
// LAUNCH-SAME:  %{{.*}}: memref<f16, 1>, %{{.*}}: !llvm.ptr)
// LAUNCH-SAME:  nvgpu.maps = [array<i64: 0, 6, 2, 2, 128, 0, 256, 256, 0, 0, 0, 512, 0, 0, 0, 64, 64, 0, 0, 0>]
// LAUNCH-NOT:   tile.tensor_map
// LAUNCH:       "tile.tma_load"{{.*}}nvgpu.map = 1 : i64

// OLD: mbarrier_alloc is an instruction of sm_90a

// A copy needs a tensor map, which is another argument of the kernel. Rows of more than 128 bytes are
// stored in panels, of which a copy transfers one. The copying threads acquire the map before the
// loop.
// CHECK-LABEL: func.func @copy
// CHECK-SAME:  %[[MAP:[a-z0-9]+]]: memref<128xi8, 1>
// CHECK:       %[[VIEW:.*]] = memref.reinterpret_cast
// CHECK:       memref.alloc() {nvgpu.panel = 64 : i64} : memref<64x128xf16, 2>
// CHECK:       scf.if
// CHECK-NEXT:  "tile.tensor_map"(%[[MAP]], %[[VIEW]]) {box = array<i64: 64, 64>, swizzle = 128 : i64}
// CHECK-NEXT:  scf.for
// CHECK:       "tile.tma_load"{{.*}}nvgpu.map = 1 : i64
func.func @copy(%x: memref<f16, 1>) attributes {xtc.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %g = memref.reinterpret_cast %x to offset: [0], sizes: [256, 256], strides: [256, 1]
    : memref<f16, 1> to memref<256x256xf16, strided<[256, 1]>, 1>
  %s = memref.alloc() : memref<64x128xf16, 2>
  %b = "tile.mbarrier_alloc"() {counts = array<i64: 1>} : () -> memref<1xi64, 2>
  %first = "tile.in_group"() {begin = 0 : i64, size = 1 : i64} : () -> i1
  scf.if %first {
    scf.for %i = %c0 to %c1 step %c1 : i32 {
      "tile.tma_load"(%g, %s, %b, %c0, %c0, %c0) {dims = array<i64: 0, 1>}
        : (memref<256x256xf16, strided<[256, 1]>, 1>, memref<64x128xf16, 2>, memref<1xi64, 2>, i32, i32, i32) -> ()
    }
  }
  return
}

// A load that rounds float32 to TF32 has another map than one that does not: type 11 of a launch's map.
// CHECK-LABEL: func.func @rounded
// CHECK:       "tile.tensor_map"{{.*}} {box = array<i64: 64, 32>, swizzle = 128 : i64, xtc.tf32}
// CHECK-NEXT:  nvgpu.map = 1 : i64, xtc.tf32}
// CHECK-NEXT:  "tile.tensor_map"{{.*}} {box = array<i64: 64, 32>, swizzle = 128 : i64} :
// CHECK-NEXT:  nvgpu.map = 2 : i64}
// LAUNCH-LABEL: func.func @rounded
// LAUNCH-SAME:  nvgpu.maps = [array<i64: 0, 11, 4, {{.*}}>, array<i64: 0, 7, 4, {{.*}}>]
func.func @rounded(%x: memref<f32, 1>) attributes {xtc.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %g = memref.reinterpret_cast %x to offset: [0], sizes: [256, 256], strides: [256, 1]
    : memref<f32, 1> to memref<256x256xf32, strided<[256, 1]>, 1>
  %s = memref.alloc() : memref<64x32xf32, 2>
  %b = "tile.mbarrier_alloc"() {counts = array<i64: 1>} : () -> memref<1xi64, 2>
  %first = "tile.in_group"() {begin = 0 : i64, size = 1 : i64} : () -> i1
  scf.if %first {
    "tile.tma_load"(%g, %s, %b, %c0, %c0, %c0) {dims = array<i64: 0, 1>, xtc.tf32}
      : (memref<256x256xf32, strided<[256, 1]>, 1>, memref<64x32xf32, 2>, memref<1xi64, 2>, i32, i32, i32) -> ()
    "tile.tma_load"(%g, %s, %b, %c0, %c0, %c0) {dims = array<i64: 0, 1>}
      : (memref<256x256xf32, strided<[256, 1]>, 1>, memref<64x32xf32, 2>, memref<1xi64, 2>, i32, i32, i32) -> ()
  }
  return
}
