// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --place-tile-buffers | FileCheck %s
// RUN: not xtc-opt %s --place-tile-buffers{block-bytes=3000} 2>&1 | FileCheck %s --check-prefix=LARGE

// LARGE:      the kernel needs 4096 bytes of shared memory, and a block has 3000
// LARGE-NEXT: note:     2048 bytes at {{.*}}: shared tensor 32x32 of f16
// LARGE-NEXT: note:     2048 bytes at {{.*}}: shared tensor 32x16 of f32

// %c reuses freed memory; %a and %b are live at the same time.
// CHECK-LABEL: func.func @places
// CHECK-SAME:  nvgpu.shared_bytes = 4096 : i64
// CHECK-SAME:  xtc.local_bytes = 4096 : i64
// CHECK:       memref.alloc() {nvgpu.offset = 0 : i64} : memref<32x32xf16, 2>
// CHECK:       memref.alloc() {nvgpu.offset = 2048 : i64} : memref<32x16xf32, 2>
// CHECK:       memref.alloc() {nvgpu.offset = 0 : i64} : memref<8x8xf32, 2>
func.func @places() attributes {xtc.warps = 1 : i64} {
  %a = memref.alloc() : memref<32x32xf16, 2>
  %b = memref.alloc() : memref<32x16xf32, 2>
  memref.dealloc %a : memref<32x32xf16, 2>
  %c = memref.alloc() : memref<8x8xf32, 2>
  memref.dealloc %b : memref<32x16xf32, 2>
  memref.dealloc %c : memref<8x8xf32, 2>
  return
}

// Threads read %a, which a bulk load fills, but no part of %b.
// CHECK-LABEL: func.func @mixes
// CHECK:       memref.alloc() {nvgpu.mixed, nvgpu.offset = 0 : i64} : memref<16x64xf16, 2>
// CHECK:       memref.alloc() {nvgpu.offset = 2048 : i64} : memref<16x64xf16, 2>
func.func @mixes(%g: memref<16x64xf16, 1>) attributes {xtc.warps = 1 : i64} {
  %i = arith.constant 0 : i32
  %a = memref.alloc() : memref<16x64xf16, 2>
  %b = memref.alloc() : memref<16x64xf16, 2>
  %full = "tile.mbarrier_alloc"() {counts = array<i64: 1>} : () -> memref<1xi64, 2>
  "tile.tma_load"(%g, %a, %full, %i, %i, %i) {dims = array<i64: 0, 1>}
    : (memref<16x64xf16, 1>, memref<16x64xf16, 2>, memref<1xi64, 2>, i32, i32, i32) -> ()
  "tile.tma_load"(%g, %b, %full, %i, %i, %i) {dims = array<i64: 0, 1>}
    : (memref<16x64xf16, 1>, memref<16x64xf16, 2>, memref<1xi64, 2>, i32, i32, i32) -> ()
  %t = "tile.load_shared"(%a) : (memref<16x64xf16, 2>) -> tensor<16x64xf16>
  return
}
