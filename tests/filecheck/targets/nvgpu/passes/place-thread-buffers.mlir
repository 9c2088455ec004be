// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --place-thread-buffers | FileCheck %s
// RUN: not xtc-opt %s --place-thread-buffers{stack-bytes=1600} 2>&1 | FileCheck %s --check-prefix=LARGE

// LARGE:      kernel 'packs' needs 1616 bytes for each thread's buffers
// LARGE-NEXT: note: a thread has 1600

// CHECK-LABEL: func.func @packs(
// CHECK-DAG:   %[[A:.*]] = memref.alloca() {alignment = 64 : i64} : memref<50x8xf32>
// CHECK-DAG:   %[[B:.*]] = memref.alloca() : memref<2xindex>
// CHECK:       scf.for
// CHECK-NOT:     memref.alloc
// CHECK:         memref.store %{{.*}}, %[[A]]
// CHECK-NOT:     memref.dealloc
// CHECK:       return
func.func @packs(%r: memref<8xf32, 1>)
    attributes {nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>} {
  %x = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %b = memref.alloca() : memref<2xindex>
  memref.store %c0, %b[%c0] : memref<2xindex>
  scf.for %k = %c0 to %c8 step %c1 {
    %a = memref.alloc() {alignment = 64 : i64} : memref<50x8xf32>
    memref.store %x, %a[%k, %k] : memref<50x8xf32>
    %y = memref.load %a[%k, %k] : memref<50x8xf32>
    memref.store %y, %r[%k] : memref<8xf32, 1>
    memref.dealloc %a : memref<50x8xf32>
  }
  return
}
