// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --split-input-file --pipeline-bulk-copies --canonicalize | FileCheck %s

// An additional warp copies 64 elements of K at once, four iterations of the kernel's loop, and a
// warpgroup multiplies; both process all tiles of a block.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME:  attributes {nvvm.minctasm = 2 : i32, xtc.warps = 5 : i64}
// CHECK:       "tile.grid"(%[[TILES:.*]], %c1_i32, %c1_i32)
// CHECK:       %[[SA:.*]] = memref.alloc() : memref<5x64x64xf16, 2>
// CHECK:       %[[SB:.*]] = memref.alloc() : memref<5x64x64xf16, 2>
// CHECK:       %[[FULL:.*]] = "tile.mbarrier_alloc"() {counts = array<i64: 1, 1, 1, 1, 1>}
// CHECK:       %[[EMPTY:.*]] = "tile.mbarrier_alloc"() {counts = array<i64: 4, 4, 4, 4, 4>}
// CHECK:       %[[COPIES:.*]] = "tile.in_group"() {begin = 128 : i64, size = 32 : i64}
// CHECK:       scf.if %[[COPIES]] {
// CHECK:         scf.for {{.*}} {
// CHECK:           scf.for {{.*}} = %c0_i32 to %c2_i32
// CHECK:             "tile.mbarrier_wait"(%[[EMPTY]]
// CHECK:             "tile.mbarrier_expect"(%[[FULL]], %{{.*}}, %c16384_i32)
// CHECK-COUNT-2:     "tile.tma_load"
// CHECK:       %[[MULTIPLIES:.*]] = "tile.in_group"() {begin = 0 : i64, size = 128 : i64}
// CHECK:       scf.if %[[MULTIPLIES]] {
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             "tile.mbarrier_wait"(%[[FULL]]
// CHECK-NEXT:        "tile.wgmma_fence"
// CHECK:             "tile.wgmma"
// CHECK-NEXT:        "tile.wgmma_commit"
// CHECK-NEXT:        "tile.wgmma_wait"() {n = 1 : i64}
// CHECK:             "tile.mbarrier_arrive"(%[[EMPTY]]{{.*}} {by_warps}
// CHECK:           "tile.wgmma_wait"() {n = 0 : i64}
// CHECK:           "tile.store_shared"
// CHECK:           "tile.tma_store"
// CHECK:         "tile.tma_wait"() {n = 0 : i64, read = false}
// CHECK-NOT:   "tile.sync"
// CHECK-NOT:   tile.copy_async
func.func @matmul(%m: i32, %a: memref<f16, 1>, %b: memref<f16, 1>, %c: memref<f32, 1>) attributes {xtc.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c16 = arith.constant 16 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  "tile.grid"(%m, %c1, %c1) : (i32, i32, i32) -> ()
  %x = "tile.block_id"() {dim = 0 : i64} : () -> i32
  %y = "tile.block_id"() {dim = 1 : i64} : () -> i32
  %row = arith.muli %x, %c64 : i32
  %column = arith.muli %y, %c64 : i32
  %ga = memref.reinterpret_cast %a to offset: [0], sizes: [512, 128], strides: [128, 1]
    : memref<f16, 1> to memref<512x128xf16, strided<[128, 1]>, 1>
  %gb = memref.reinterpret_cast %b to offset: [0], sizes: [128, 128], strides: [128, 1]
    : memref<f16, 1> to memref<128x128xf16, strided<[128, 1]>, 1>
  %gc = memref.reinterpret_cast %c to offset: [0], sizes: [512, 128], strides: [128, 1]
    : memref<f32, 1> to memref<512x128xf32, strided<[128, 1]>, 1>
  %sa = memref.alloc() : memref<64x16xf16, 2>
  %sb = memref.alloc() : memref<16x64xf16, 2>
  %sum = scf.for %k = %c0 to %c128 step %c16 iter_args(%s = %zero) -> (tensor<64x64xf32>) : i32 {
    "tile.copy_async"(%ga, %sa, %row, %k) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<512x128xf16, strided<[128, 1]>, 1>, memref<64x16xf16, 2>, i32, i32) -> ()
    "tile.copy_async"(%gb, %sb, %k, %column) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<128x128xf16, strided<[128, 1]>, 1>, memref<16x64xf16, 2>, i32, i32) -> ()
    "tile.wait_all"() : () -> ()
    "tile.sync"() : () -> ()
    %ta = "tile.load_shared"(%sa) : (memref<64x16xf16, 2>) -> tensor<64x16xf16>
    %tb = "tile.load_shared"(%sb) : (memref<16x64xf16, 2>) -> tensor<16x64xf16>
    %d = "tile.dot"(%ta, %tb, %s) : (tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "tile.sync"() : () -> ()
    scf.yield %d : tensor<64x64xf32>
  }
  "tile.store_global"(%sum, %gc, %row, %column) {dims = array<i64: 0, 1>}
    : (tensor<64x64xf32>, memref<512x128xf32, strided<[128, 1]>, 1>, i32, i32) -> ()
  return
}

// -----

// A loop that lacks a wait is unchanged, so that the interpreter reports the line to its author.
// CHECK-LABEL: func.func @unordered
// CHECK-SAME:  xtc.notes = ["{{.*}}: no bulk copies and warpgroups: a tile is read before a wait and a sync"]
// CHECK-SAME:  xtc.warps = 4
// CHECK:       tile.copy_async
func.func @unordered(%a: memref<f16, 1>, %c: memref<f32, 1>) attributes {xtc.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %ga = memref.reinterpret_cast %a to offset: [0], sizes: [64, 128], strides: [128, 1]
    : memref<f16, 1> to memref<64x128xf16, strided<[128, 1]>, 1>
  %gc = memref.reinterpret_cast %c to offset: [0], sizes: [64, 64], strides: [64, 1]
    : memref<f32, 1> to memref<64x64xf32, strided<[64, 1]>, 1>
  %sa = memref.alloc() : memref<64x64xf16, 2>
  %sum = scf.for %k = %c0 to %c128 step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) : i32 {
    "tile.copy_async"(%ga, %sa, %c0, %k) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<64x128xf16, strided<[128, 1]>, 1>, memref<64x64xf16, 2>, i32, i32) -> ()
    "tile.sync"() : () -> ()
    %ta = "tile.load_shared"(%sa) : (memref<64x64xf16, 2>) -> tensor<64x64xf16>
    %d = "tile.dot"(%ta, %ta, %s) : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "tile.sync"() : () -> ()
    scf.yield %d : tensor<64x64xf32>
  }
  "tile.store_global"(%sum, %gc, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<64x64xf32>, memref<64x64xf32, strided<[64, 1]>, 1>, i32, i32) -> ()
  return
}

// -----

// If there are many tiles, two become one of 256 columns, and pairs of blocks share these columns.
// CHECK-LABEL: func.func @merged
// CHECK-SAME:  xtc.cluster = array<i64: 2, 1, 1>, xtc.many_blocks, xtc.warps = 12
// CHECK:       memref.alloc() : memref<3x64x256xf16, 2>
// CHECK:       %[[PAIRED:.*]] = arith.cmpi eq
// CHECK:       "tile.cluster_sync"() {no_writes}
// CHECK:       scf.if %[[PAIRED]]
// CHECK:         "tile.tma_multicast"{{.*}} memref<32x256xf16
// CHECK:       "tile.wgmma"{{.*}} -> tensor<128x256xf32>
// CHECK:       "tile.cluster_arrive"{{.*}} {by_warps, no_writes}
// CHECK:       arith.truncf {{.*}} tensor<128x256xf16>
func.func @merged(%m: i32, %a: memref<f16, 1>, %b: memref<f16, 1>, %c: memref<f16, 1>) attributes {xtc.many_blocks, xtc.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  "tile.grid"(%m, %c4, %c1) : (i32, i32, i32) -> ()
  %x = "tile.block_id"() {dim = 0 : i64} : () -> i32
  %y = "tile.block_id"() {dim = 1 : i64} : () -> i32
  %row = arith.muli %x, %c128 : i32
  %column = arith.muli %y, %c128 : i32
  %ga = memref.reinterpret_cast %a to offset: [0], sizes: [512, 128], strides: [128, 1]
    : memref<f16, 1> to memref<512x128xf16, strided<[128, 1]>, 1>
  %gb = memref.reinterpret_cast %b to offset: [0], sizes: [128, 512], strides: [512, 1]
    : memref<f16, 1> to memref<128x512xf16, strided<[512, 1]>, 1>
  %gc = memref.reinterpret_cast %c to offset: [0], sizes: [512, 512], strides: [512, 1]
    : memref<f16, 1> to memref<512x512xf16, strided<[512, 1]>, 1>
  %sa = memref.alloc() : memref<128x64xf16, 2>
  %sb = memref.alloc() : memref<64x128xf16, 2>
  %sum = scf.for %k = %c0 to %c128 step %c64 iter_args(%s = %zero) -> (tensor<128x128xf32>) : i32 {
    "tile.copy_async"(%ga, %sa, %row, %k) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<512x128xf16, strided<[128, 1]>, 1>, memref<128x64xf16, 2>, i32, i32) -> ()
    "tile.copy_async"(%gb, %sb, %k, %column) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<128x512xf16, strided<[512, 1]>, 1>, memref<64x128xf16, 2>, i32, i32) -> ()
    "tile.wait_all"() : () -> ()
    "tile.sync"() : () -> ()
    %ta = "tile.load_shared"(%sa) : (memref<128x64xf16, 2>) -> tensor<128x64xf16>
    %tb = "tile.load_shared"(%sb) : (memref<64x128xf16, 2>) -> tensor<64x128xf16>
    %d = "tile.dot"(%ta, %tb, %s) : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    "tile.sync"() : () -> ()
    scf.yield %d : tensor<128x128xf32>
  }
  %half = arith.truncf %sum : tensor<128x128xf32> to tensor<128x128xf16>
  "tile.store_global"(%half, %gc, %row, %column) {dims = array<i64: 0, 1>}
    : (tensor<128x128xf16>, memref<512x512xf16, strided<[512, 1]>, 1>, i32, i32) -> ()
  return
}

// -----

// Operands of 8 bits: 128 bytes of K at once, two iterations. Warpgroups multiply the codes.
// CHECK-LABEL: func.func @small_floats
// CHECK-NOT:   xtc.notes
// CHECK:       memref.alloc() : memref<12x64x128xi8, 2>
// CHECK:       "tile.mbarrier_expect"({{.*}}, %c16384_i32)
// CHECK:       "tile.wgmma"{{.*}} {codes = ["float8_e4m3"]}
func.func @small_floats(%a: memref<i8, 1>, %b: memref<i8, 1>, %c: memref<f32, 1>) attributes {xtc.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant 64 : i32
  %end = arith.constant 256 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %ga = memref.reinterpret_cast %a to offset: [0], sizes: [64, 256], strides: [256, 1]
    : memref<i8, 1> to memref<64x256xi8, strided<[256, 1]>, 1>
  %gb = memref.reinterpret_cast %b to offset: [0], sizes: [64, 256], strides: [256, 1]
    : memref<i8, 1> to memref<64x256xi8, strided<[256, 1]>, 1>
  %gc = memref.reinterpret_cast %c to offset: [0], sizes: [64, 64], strides: [64, 1]
    : memref<f32, 1> to memref<64x64xf32, strided<[64, 1]>, 1>
  %sa = memref.alloc() : memref<64x64xi8, 2>
  %sb = memref.alloc() : memref<64x64xi8, 2>
  %sum = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (tensor<64x64xf32>) : i32 {
    "tile.copy_async"(%ga, %sa, %c0, %k) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<64x256xi8, strided<[256, 1]>, 1>, memref<64x64xi8, 2>, i32, i32) -> ()
    "tile.copy_async"(%gb, %sb, %c0, %k) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<64x256xi8, strided<[256, 1]>, 1>, memref<64x64xi8, 2>, i32, i32) -> ()
    "tile.wait_all"() : () -> ()
    "tile.sync"() : () -> ()
    %ta = "tile.load_shared"(%sa) : (memref<64x64xi8, 2>) -> tensor<64x64xi8>
    %raw = "tile.load_shared"(%sb) : (memref<64x64xi8, 2>) -> tensor<64x64xi8>
    %tb = "tile.transpose"(%raw) {dims = array<i64: 1, 0>} : (tensor<64x64xi8>) -> tensor<64x64xi8>
    %d = "tile.dot"(%ta, %tb, %s) {codes = ["float8_e4m3", "float8_e4m3"]}
      : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "tile.sync"() : () -> ()
    scf.yield %d : tensor<64x64xf32>
  }
  "tile.store_global"(%sum, %gc, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<64x64xf32>, memref<64x64xf32, strided<[64, 1]>, 1>, i32, i32) -> ()
  return
}

// -----

// Copies of TF32 round, since warpgroups ignore the lower bits.
// CHECK-LABEL: func.func @tf32
// CHECK-NOT:   xtc.notes
// CHECK-COUNT-2: "tile.tma_load"{{.*}}xtc.tf32
// CHECK:       "tile.wgmma"{{.*}} {codes = ["tfloat32"]}
func.func @tf32(%a: memref<f32, 1>, %b: memref<f32, 1>, %c: memref<f32, 1>) attributes {xtc.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant 32 : i32
  %end = arith.constant 256 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %ga = memref.reinterpret_cast %a to offset: [0], sizes: [64, 256], strides: [256, 1]
    : memref<f32, 1> to memref<64x256xf32, strided<[256, 1]>, 1>
  %gb = memref.reinterpret_cast %b to offset: [0], sizes: [64, 256], strides: [256, 1]
    : memref<f32, 1> to memref<64x256xf32, strided<[256, 1]>, 1>
  %gc = memref.reinterpret_cast %c to offset: [0], sizes: [64, 64], strides: [64, 1]
    : memref<f32, 1> to memref<64x64xf32, strided<[64, 1]>, 1>
  %sa = memref.alloc() : memref<64x32xf32, 2>
  %sb = memref.alloc() : memref<64x32xf32, 2>
  %sum = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (tensor<64x64xf32>) : i32 {
    "tile.copy_async"(%ga, %sa, %c0, %k) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<64x256xf32, strided<[256, 1]>, 1>, memref<64x32xf32, 2>, i32, i32) -> ()
    "tile.copy_async"(%gb, %sb, %c0, %k) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<64x256xf32, strided<[256, 1]>, 1>, memref<64x32xf32, 2>, i32, i32) -> ()
    "tile.wait_all"() : () -> ()
    "tile.sync"() : () -> ()
    %ta = "tile.load_shared"(%sa) : (memref<64x32xf32, 2>) -> tensor<64x32xf32>
    %raw = "tile.load_shared"(%sb) : (memref<64x32xf32, 2>) -> tensor<64x32xf32>
    %tb = "tile.transpose"(%raw) {dims = array<i64: 1, 0>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %d = "tile.dot"(%ta, %tb, %s) {xtc.tf32}
      : (tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "tile.sync"() : () -> ()
    scf.yield %d : tensor<64x64xf32>
  }
  "tile.store_global"(%sum, %gc, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<64x64xf32>, memref<64x64xf32, strided<[64, 1]>, 1>, i32, i32) -> ()
  return
}

// -----

// Only 16-bit operands may be contiguous along another dimension than K.
// CHECK-LABEL: func.func @across
// CHECK-SAME:  xtc.notes = ["{{.*}}: no bulk copies and warpgroups: operand b of int8 is contiguous along n, not along k: warpgroups transpose 16-bit operands only"]
// CHECK:       tile.dot
func.func @across(%a: memref<i8, 1>, %b: memref<i8, 1>, %c: memref<i32, 1>) attributes {xtc.warps = 4 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant 64 : i32
  %end = arith.constant 256 : i32
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %ga = memref.reinterpret_cast %a to offset: [0], sizes: [64, 256], strides: [256, 1]
    : memref<i8, 1> to memref<64x256xi8, strided<[256, 1]>, 1>
  %gb = memref.reinterpret_cast %b to offset: [0], sizes: [256, 64], strides: [64, 1]
    : memref<i8, 1> to memref<256x64xi8, strided<[64, 1]>, 1>
  %gc = memref.reinterpret_cast %c to offset: [0], sizes: [64, 64], strides: [64, 1]
    : memref<i32, 1> to memref<64x64xi32, strided<[64, 1]>, 1>
  %sa = memref.alloc() : memref<64x64xi8, 2>
  %sb = memref.alloc() : memref<64x64xi8, 2>
  %sum = scf.for %k = %c0 to %end step %step iter_args(%s = %zero) -> (tensor<64x64xi32>) : i32 {
    "tile.copy_async"(%ga, %sa, %c0, %k) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<64x256xi8, strided<[256, 1]>, 1>, memref<64x64xi8, 2>, i32, i32) -> ()
    "tile.copy_async"(%gb, %sb, %k, %c0) {check_bounds = true, dims = array<i64: 0, 1>}
      : (memref<256x64xi8, strided<[64, 1]>, 1>, memref<64x64xi8, 2>, i32, i32) -> ()
    "tile.wait_all"() : () -> ()
    "tile.sync"() : () -> ()
    %ta = "tile.load_shared"(%sa) : (memref<64x64xi8, 2>) -> tensor<64x64xi8>
    %tb = "tile.load_shared"(%sb) : (memref<64x64xi8, 2>) -> tensor<64x64xi8>
    %d = "tile.dot"(%ta, %tb, %s)
      : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<64x64xi32>) -> tensor<64x64xi32>
    "tile.sync"() : () -> ()
    scf.yield %d : tensor<64x64xi32>
  }
  "tile.store_global"(%sum, %gc, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<64x64xi32>, memref<64x64xi32, strided<[64, 1]>, 1>, i32, i32) -> ()
  return
}
