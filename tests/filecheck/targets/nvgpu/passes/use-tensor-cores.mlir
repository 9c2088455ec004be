// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --use-tensor-cores{sms=256} | FileCheck %s
// RUN: xtc-opt %s --use-tensor-cores{sms=256} --place-tile-buffers --lower-tiles --canonicalize \
// RUN:   | FileCheck %s --check-prefix=THREAD
// RUN: xtc-opt %s --use-tensor-cores{tf32=true} --place-tile-buffers --lower-tiles \
// RUN:   | FileCheck %s --check-prefix=TF32
// RUN: xtc-opt %s --use-tensor-cores{sms=4} --place-tile-buffers --lower-tiles \
// RUN:   | FileCheck %s --check-prefix=LARGE
// RUN: xtc-opt %s "--use-tensor-cores{sms=4 warpgroups=true}" \
// RUN:   | FileCheck %s --check-prefix=GROUPS
// RUN: xtc-opt %s "--use-tensor-cores{sms=256 warpgroups=true tf32=true}" \
// RUN:   | FileCheck %s --check-prefix=DECLINED

#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// 16 x 16 tiles of 32 x 32, each by 4 warps; 6 slots of 2 x 32 rows of 128 bytes, of which 5 have at
// least 40 KiB in flight.
// CHECK-LABEL: func.func @half(
// CHECK-SAME:  nvgpu.block = array<i64: 128, 1, 1>, nvgpu.grid = array<i64: 256, 1, 1>
// CHECK-SAME:  nvvm.minctasm = 2 : i32, xtc.warps = 4 : i64
// CHECK-NOT:   linalg
// CHECK:       %[[A:.*]] = memref.alloc() : memref<6x32x64xf16, 2>
// CHECK:       %[[B:.*]] = memref.alloc() : memref<6x64x32xf16, 2>
// Five tiles are requested before the loop, and the fragments of the first step are loaded.
// CHECK-COUNT-2: "tile.copy_async"{{.*}} {check_bounds = false, dims = array<i64: 0, 1>}
// CHECK-NEXT:  "tile.commit_group"
// CHECK-COUNT-8: "tile.copy_async"
// CHECK-NEXT:  "tile.commit_group"
// CHECK-NEXT:  "tile.wait_group"() {n = 4 : i64}
// CHECK-NEXT:  "tile.sync"
// CHECK-COUNT-2: "tile.load_shared"
// CHECK:       scf.for
// CHECK:         scf.if
// CHECK-COUNT-2:   "tile.copy_async"
// CHECK:         "tile.commit_group"
// CHECK:         memref.subview %[[A]][%{{.*}}, 0, 16] [1, 32, 16]
// CHECK:         "tile.load_shared"{{.*}} -> tensor<32x16xf16, #tile.layout<
// CHECK:         memref.subview %[[B]][%{{.*}}, 16, 0] [1, 16, 32]
// CHECK:         "tile.load_shared"{{.*}} -> tensor<16x32xf16, #tile.layout<
// CHECK:         "tile.dot"
// CHECK:         "tile.dot"
// CHECK:         "tile.dot"
// CHECK:         "tile.wait_group"() {n = 4 : i64}
// CHECK-NEXT:    "tile.sync"
// CHECK-COUNT-2: "tile.load_shared"
// CHECK:         "tile.dot"
// CHECK:         scf.yield
// CHECK:       memref.dealloc %[[A]]
// CHECK:       memref.dealloc %[[B]]
// Rows of the accumulators are 8 banks apart.
// CHECK:       "tile.sync"
// CHECK:       "tile.store_shared"{{.*}}memref<32x32xf32, strided<[40, 1]>, 2>
// CHECK:       "tile.sync"
// CHECK:       scf.for
// CHECK:         "tile.inside"
// CHECK:         scf.if
// CHECK:           "tile.load_shared"
// CHECK:           "tile.load_global"{{.*}} -> tensor<1x32xf16, #tile.layout<
// CHECK:           "tile.broadcast"
// CHECK:           arith.truncf
// CHECK:           arith.addf
// CHECK:           "tile.store_global"

// The code of a thread.
// THREAD:       memref.global @xtc_shared : memref<0xi8, 3> {alignment = 1024 : i64}
// THREAD-NOT:   memref.global
// THREAD-LABEL: func.func @half(
// THREAD-SAME:  nvgpu.block = array<i64: 128, 1, 1>, nvgpu.grid = array<i64: 256, 1, 1>
// THREAD-SAME:  nvgpu.shared_bytes = 49152 : i64, nvvm.minctasm = 2 : i32
// THREAD-NOT:   linalg
// Five tiles are requested before the loop.
// THREAD-COUNT-4: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
// THREAD:       nvvm.cp.async.commit.group
// THREAD-COUNT-16: nvvm.cp.async.shared.global
// THREAD-NEXT:  nvvm.cp.async.commit.group
// THREAD-NEXT:  nvvm.cp.async.wait.group 4
// THREAD-NEXT:  nvvm.barrier
// A has its rows along K, B across.
// THREAD:       nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4 : i32
// THREAD:       nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 4 : i32
// THREAD:       scf.for
// THREAD:         scf.if
// THREAD-COUNT-4:   nvvm.cp.async.shared.global
// THREAD:         nvvm.cp.async.commit.group
// THREAD:         nvvm.ldmatrix
// THREAD:         nvvm.ldmatrix
// THREAD-COUNT-2: nvvm.mma.sync {{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 16>
// THREAD-COUNT-2: nvvm.ldmatrix
// THREAD-COUNT-2: nvvm.mma.sync
// THREAD-COUNT-2: nvvm.ldmatrix
// THREAD-COUNT-2: nvvm.mma.sync
// THREAD:         nvvm.cp.async.wait.group 4
// THREAD-NEXT:    nvvm.barrier
// THREAD-COUNT-2: nvvm.ldmatrix
// THREAD-COUNT-2: nvvm.mma.sync
// THREAD:         scf.yield
// THREAD-COUNT-4: llvm.store {{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<3>
// THREAD:       nvvm.barrier
// THREAD-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// THREAD:       llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
// THREAD:       arith.truncf {{.*}} : vector<8xf32> to vector<8xf16>
// All tiles are inside the tensors: no bounds are tested.
// THREAD-NOT:   scf.if
// THREAD:       llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<1>
// THREAD:       return

// Enough tiles of 128 x 128 for 4 SMs.
// LARGE-LABEL: func.func @half(
// LARGE-SAME:  nvgpu.block = array<i64: 128, 1, 1>
// LARGE-SAME:  nvgpu.grid = array<i64: 16, 1, 1>
// LARGE-SAME:  nvgpu.shared_bytes = 69632 : i64

// Warpgroups multiply from shared memory: no fragments.
// GROUPS-LABEL: func.func @half(
// GROUPS-NOT:   xtc.notes
// GROUPS-NOT:   "tile.dot"
// GROUPS:       scf.for
// GROUPS:         "tile.wait_group"() {n = 2 : i64}
// GROUPS-NEXT:    "tile.fence_proxy"() {space = "shared"}
// GROUPS-NEXT:    "tile.sync"
// GROUPS-NEXT:    "tile.wgmma_fence"
// GROUPS:         "tile.wgmma"{{.*}} -> tensor<128x128xf32, #tile.layout<
// GROUPS:         "tile.wgmma_commit"
// GROUPS:         scf.if
// GROUPS-COUNT-2:   "tile.copy_async"
// GROUPS:         "tile.commit_group"
// GROUPS-NEXT:    "tile.wgmma_wait"() {n = 1 : i64}
// GROUPS:         scf.yield
// GROUPS:       "tile.wgmma_wait"() {n = 0 : i64}
func.func @half(%a: memref<512x512xf16, 1>, %b: memref<512x512xf16, 1>, %x: memref<512xf16, 1>, %c: memref<512x512xf16, 1>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<512x512xf32, 1>
  linalg.fill {xtc.kernel = 0 : i64} ins(%zero : f32) outs(%s : memref<512x512xf32, 1>)
  linalg.matmul {xtc.kernel = 0 : i64}
    ins(%a, %b : memref<512x512xf16, 1>, memref<512x512xf16, 1>) outs(%s : memref<512x512xf32, 1>)
  linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}
    ins(%s, %x : memref<512x512xf32, 1>, memref<512xf16, 1>) outs(%c : memref<512x512xf16, 1>)
    attrs = {xtc.kernel = 0 : i64} {
  ^bb0(%in: f32, %bias: f16, %out: f16):
    %n = arith.truncf %in : f32 to f16
    %v = arith.addf %n, %bias : f16
    linalg.yield %v : f16
  }
  return
}

// Odd sizes, both operands transposed, a batch: elements outside become 0. Rows of B are 10 bytes
// apart, of which 2 can be copied at a time, those of A 40, in steps of 8.
// DECLINED-LABEL: func.func @odd(
// DECLINED-SAME: xtc.notes = ["{{.*}}: no warpgroups: tiles of 32x32: warpgroups need multiples of 64 rows"]
// THREAD-LABEL: func.func @odd(
// THREAD-SAME:  nvgpu.grid = array<i64: 6, 1, 1>
// THREAD:       nvvm.cp.async.shared.global {{.*}}, 8, cache = ca, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
// THREAD:       llvm.store {{.*}} : vector<1xi16>, !llvm.ptr<3>
// THREAD:       scf.if
// THREAD:         llvm.load {{.*}} : !llvm.ptr<1> -> vector<1xi16>
// THREAD:         nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<bf16>
// THREAD:       nvvm.barrier
// THREAD:       arith.cmpi ult
// THREAD:       scf.if
// THREAD:         llvm.store {{.*}} : vector<1xf32>, !llvm.ptr<1>
func.func @odd(%a: memref<3x17x20xbf16, 1>, %b: memref<3x33x17xbf16, 1>, %c: memref<3x20x33xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<3x20x33xf32, 1>)
  linalg.batch_matmul indexing_maps = [affine_map<(b, i, j, k) -> (b, k, i)>,
      affine_map<(b, i, j, k) -> (b, j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>]
    ins(%a, %b : memref<3x17x20xbf16, 1>, memref<3x33x17xbf16, 1>) outs(%c : memref<3x20x33xf32, 1>)
  return
}

// ldmatrix cannot transpose elements of 32 bits: those of B are read individually.
// DECLINED-LABEL: func.func @wide(
// DECLINED-SAME: xtc.notes = ["{{.*}}: no warpgroups: operand b of tf32 is not contiguous along k"]
// THREAD-LABEL: func.func @wide(
// THREAD:       linalg.matmul
// TF32-LABEL:  func.func @wide(
// TF32-NOT:    linalg
// TF32:        nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>
// TF32-COUNT-4: llvm.load {{.*}} : !llvm.ptr<3> -> vector<1xf32>
// TF32:        nvvm.convert.float.to.tf32 {{.*}} {rnd = #nvvm.fp_rnd_mode<rna>}
// TF32:        nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}} k = 8>
// TF32:        nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}} k = 8>
func.func @wide(%a: memref<32x64xf32, 1>, %b: memref<64x32xf32, 1>, %c: memref<32x32xf32, 1>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<32x32xf32, 1>)
  linalg.matmul ins(%a, %b : memref<32x64xf32, 1>, memref<64x32xf32, 1>) outs(%c : memref<32x32xf32, 1>)
  return
}
