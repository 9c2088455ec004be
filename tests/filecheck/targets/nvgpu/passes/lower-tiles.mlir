// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --infer-tile-layouts --place-tile-buffers --lower-tiles | FileCheck %s
// RUN: xtc-opt %s --infer-tile-layouts --place-tile-buffers "--lower-tiles{stores-matrices=true}" \
// RUN:   | FileCheck %s --check-prefix=STORED

// Copies of 16 bytes, ldmatrix for both operands, transposed for the second, and mma.sync.
// CHECK-LABEL: func.func @dot
// CHECK-SAME:  nvgpu.block = array<i64: 32, 1, 1>
// CHECK-SAME:  nvgpu.grid = array<i64: 0, 0, 0>
// CHECK-SAME:  nvgpu.shared_bytes = 1536 : i64
// CHECK-NOT:   tile.
// CHECK:       nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %{{.*}}
// CHECK:       nvvm.cp.async.commit.group
// CHECK:       nvvm.cp.async.wait.group 0
// CHECK:       nvvm.barrier
// CHECK:       nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK:       nvvm.ldmatrix %{{.*}} {{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK:       llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>
func.func @dot(%in: memref<f16, 1>, %out: memref<f32, 1>, %m: i32) attributes {xtc.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c = arith.constant dense<0.0> : tensor<16x16xf32>
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %rows = arith.index_cast %m : i32 to index
  %g = memref.reinterpret_cast %in to offset: [0], sizes: [%rows, 16], strides: [16, 1]
    : memref<f16, 1> to memref<?x16xf16, strided<[16, 1]>, 1>
  %sa = memref.alloc() : memref<16x16xf16, 2>
  %sb = memref.alloc() : memref<16x16xf16, 2>
  "tile.copy_async"(%g, %sa, %c0, %c0) {dims = array<i64: 0, 1>, check_bounds = true}
    : (memref<?x16xf16, strided<[16, 1]>, 1>, memref<16x16xf16, 2>, i32, i32) -> ()
  "tile.wait_all"() : () -> ()
  "tile.sync"() : () -> ()
  %a = "tile.load_shared"(%sa) : (memref<16x16xf16, 2>) -> tensor<16x16xf16>
  %b = "tile.load_shared"(%sb) : (memref<16x16xf16, 2>) -> tensor<16x16xf16>
  %d = "tile.dot"(%a, %b, %c)
    : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %h = memref.reinterpret_cast %out to offset: [0], sizes: [16, 16], strides: [16, 1]
    : memref<f32, 1> to memref<16x16xf32, strided<[16, 1]>, 1>
  "tile.store_global"(%d, %h, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<16x16xf32>, memref<16x16xf32, strided<[16, 1]>, 1>, i32, i32) -> ()
  return
}

// 16-bit accumulators are distributed like matrices, of which stmatrix stores four at a time.
// CHECK-LABEL: func.func @staged
// CHECK-COUNT-4: llvm.store {{.*}} : vector<2xf16>, !llvm.ptr<3>
// STORED-LABEL: func.func @staged
// STORED-NOT:   llvm.store
// STORED:       nvvm.stmatrix {{.*}}layout = #nvvm.mma_layout<row>{{.*}} !llvm.ptr<3>, i32, i32, i32, i32
func.func @staged() attributes {xtc.warps = 1 : i64} {
  %c1 = arith.constant 1 : i32
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %c = arith.constant dense<0.0> : tensor<16x16xf32>
  %sa = memref.alloc() : memref<16x16xf16, 2>
  %a = "tile.load_shared"(%sa) : (memref<16x16xf16, 2>) -> tensor<16x16xf16>
  %b = "tile.load_shared"(%sa) : (memref<16x16xf16, 2>) -> tensor<16x16xf16>
  %d = "tile.dot"(%a, %b, %c)
    : (tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %n = arith.truncf %d : tensor<16x16xf32> to tensor<16x16xf16>
  "tile.sync"() : () -> ()
  "tile.store_shared"(%n, %sa) : (tensor<16x16xf16>, memref<16x16xf16, 2>) -> ()
  return
}

// Threads read 16 bytes if 4 elements are inside. A uniform branch leads to single accesses for the vector
// that the end of the tensor divides, if there is one. Copies have the number of bytes before the end
// instead.
// CHECK-LABEL: func.func @ragged
// CHECK-SAME:  (%[[N:.*]]: i32,
// CHECK:       %[[READ:.*]] = scf.if %{{.*}} -> (vector<4xf32>)
// CHECK-NEXT:    llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK:       %[[OVER:.*]] = arith.andi %[[N]], %c3
// CHECK:       arith.cmpi ne, %[[OVER]], %c0
// CHECK:       scf.if %{{.*}} -> (vector<4xf32>)
// CHECK-COUNT-3: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<1xf32>
// CHECK:       scf.yield %[[READ]] : vector<4xf32>
// CHECK:       llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK-COUNT-3: llvm.store %{{.*}} {alignment = 4 : i64} : vector<1xf32>, !llvm.ptr<1>
// CHECK:       %[[KEPT:.*]] = arith.minui %{{.*}}, %c4
// CHECK:       %[[BYTES:.*]] = arith.muli %[[KEPT]], %c4
// CHECK:       %[[COPIED:.*]] = arith.select %{{.*}}, %[[BYTES]], %c0
// CHECK:       nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[COPIED]]
func.func @ragged(%n: i32, %in: memref<f32, 1>, %out: memref<f32, 1>) attributes {xtc.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %size = arith.index_cast %n : i32 to index
  %g = memref.reinterpret_cast %in to offset: [0], sizes: [%size], strides: [1]
    : memref<f32, 1> to memref<?xf32, strided<[1]>, 1>
  %h = memref.reinterpret_cast %out to offset: [0], sizes: [%size], strides: [1]
    : memref<f32, 1> to memref<?xf32, strided<[1]>, 1>
  %t = "tile.load_global"(%g, %c0) {dims = array<i64: 0>}
    : (memref<?xf32, strided<[1]>, 1>, i32) -> tensor<128xf32>
  "tile.store_global"(%t, %h, %c0) {dims = array<i64: 0>}
    : (tensor<128xf32>, memref<?xf32, strided<[1]>, 1>, i32) -> ()
  %s = memref.alloc() : memref<128xf32, 2>
  "tile.copy_async"(%g, %s, %c0) {dims = array<i64: 0>, check_bounds = true}
    : (memref<?xf32, strided<[1]>, 1>, memref<128xf32, 2>, i32) -> ()
  return
}

// A tile of several accesses per thread has them without conditions, one after the other, if it is inside the
// tensor.
// CHECK-LABEL: func.func @inside
// CHECK:       %[[WHOLE:.*]] = arith.andi
// CHECK:       scf.if %[[WHOLE]] -> (vector<4xf32>, vector<4xf32>) {
// CHECK-NOT:     scf.if
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK:       } else {
// CHECK-COUNT-2: scf.if %{{.*}} -> (vector<4xf32>)
func.func @inside(%m: i32, %in: memref<f32, 1>, %out: memref<f32, 1>) attributes {xtc.warps = 1 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  "tile.grid"(%c1, %c1, %c1) : (i32, i32, i32) -> ()
  %rows = arith.index_cast %m : i32 to index
  %g = memref.reinterpret_cast %in to offset: [0], sizes: [%rows, 64], strides: [64, 1]
    : memref<f32, 1> to memref<?x64xf32, strided<[64, 1]>, 1>
  %h = memref.reinterpret_cast %out to offset: [0], sizes: [4, 64], strides: [64, 1]
    : memref<f32, 1> to memref<4x64xf32, strided<[64, 1]>, 1>
  %t = "tile.load_global"(%g, %c0, %c0) {dims = array<i64: 0, 1>}
    : (memref<?x64xf32, strided<[64, 1]>, 1>, i32, i32) -> tensor<4x64xf32>
  "tile.store_global"(%t, %h, %c0, %c0) {dims = array<i64: 0, 1>}
    : (tensor<4x64xf32>, memref<4x64xf32, strided<[64, 1]>, 1>, i32, i32) -> ()
  return
}
