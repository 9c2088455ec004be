// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --place-shared-buffers | FileCheck %s
// RUN: not xtc-opt %s --place-shared-buffers{block-bytes=287} 2>&1 | FileCheck %s --check-prefix=LARGE

// LARGE:      kernel 'packs' needs 288 bytes of shared memory
// LARGE-NEXT: note: a block has 287

// The size of the array is given when the kernel is launched.
// CHECK:       memref.global @xtc_shared : memref<0xi8, 3> {alignment = 1024 : i64}
// CHECK-LABEL: func.func @packs(
// CHECK-SAME:  nvgpu.shared_bytes = 288 : i64
// CHECK:       %[[ALL:.*]] = memref.get_global @xtc_shared : memref<0xi8, 3>
// CHECK:       %[[A:.*]] = memref.view %[[ALL]][%c0{{.*}}][] : memref<0xi8, 3> to memref<5x8xf32, 3>
// CHECK:       %[[B:.*]] = memref.view %[[ALL]][%c256{{.*}}][] : memref<0xi8, 3> to memref<4xindex, 3>
// CHECK:       scf.for
// CHECK-NOT:     memref.alloc
// CHECK:         memref.store %{{.*}}, %[[A]]
// CHECK:         memref.store %{{.*}}, %[[B]]
// CHECK-NOT:     memref.dealloc
// CHECK:       return
func.func @packs()
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %x = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %k = %c0 to %c4 step %c1 {
    %a = memref.alloc() : memref<5x8xf32, 3>
    %b = memref.alloc() : memref<4xindex, 3>
    memref.store %x, %a[%k, %k] : memref<5x8xf32, 3>
    memref.store %k, %b[%k] : memref<4xindex, 3>
    memref.dealloc %a : memref<5x8xf32, 3>
  }
  return
}

// Private buffers of a thread are left to another pass.
// CHECK-LABEL: func.func @own(
// CHECK-NOT:   nvgpu.shared_bytes
// CHECK:       memref.alloc() : memref<8xf32>
func.func @own()
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %a = memref.alloc() : memref<8xf32>
  return
}
