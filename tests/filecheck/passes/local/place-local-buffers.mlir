// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --place-local-buffers='local-bytes=3932160 symbol=dev_smem' | FileCheck %s
// RUN: not xtc-opt %s --place-local-buffers='local-bytes=700 symbol=dev_smem' 2>&1 | FileCheck %s --check-prefix=FULL

// b and the private buffers are used only after the last use of a, so they share its memory; c is used beside both, until
// its transfer has completed. Each PE has a separate private buffer.

// FULL: kernel 'k' needs 768 bytes of local memory, which has 700 for buffers
// FULL: note: 512 bytes: memref<128xf32>
// FULL: note: 256 bytes: memref<16xf32>, one for each of 4 units
// FULL: hint: choose smaller tiles

// CHECK-LABEL: func.func private @k.pe0(
// CHECK-SAME: %[[PE:[a-z0-9]+]]: index
// CHECK: %[[SMEM:.*]] = call @dev_smem() : () -> memref<3932160xi8>
// CHECK: %[[MINE:.*]] = arith.muli %[[PE]], %{{.*}} : index
// CHECK: %[[PLACE:.*]] = arith.addi %[[MINE]], %{{.*}} : index
// CHECK: memref.view %[[SMEM]][%[[PLACE]]][] : memref<3932160xi8> to memref<16xf32>
// CHECK-LABEL: func.func @k(
// CHECK-SAME: xtc.local_bytes = 768 : i64
// CHECK-DAG: %[[C_AT:.*]] = arith.constant 512 : index
// CHECK-DAG: memref.view %{{.*}}[%[[C_AT]]][] : memref<3932160xi8> to memref<64xf32>
// CHECK-DAG: %[[A_AT:.*]] = arith.constant 0 : index
// CHECK-DAG: memref.view %{{.*}}[%[[A_AT]]][] : memref<3932160xi8> to memref<128xf32>
// CHECK-NOT: memref.alloc()
func.func private @block_number() -> i32
func.func private @k.pe0(%arg0: index, %arg1: memref<64xf32>) attributes {llvm.linkage = #llvm.linkage<internal>} {
  %alloc = memref.alloc() : memref<16xf32>
  %subview = memref.subview %arg1[%arg0] [16] [1] : memref<64xf32> to memref<16xf32, strided<[1], offset: ?>>
  linalg.exp ins(%subview : memref<16xf32, strided<[1], offset: ?>>) outs(%alloc : memref<16xf32>)
  return
}

func.func @k(%arg0: memref<128xf32>, %arg1: memref<64xf32>) {
  %alloca = memref.alloca() : memref<1xi32>
  %alloca_0 = memref.alloca() : memref<1xi32>
  %0 = call @block_number() : () -> i32
  %1 = arith.index_cast %0 : i32 to index
  %alloc = memref.alloc() : memref<64xf32>
  %alloc_1 = memref.alloc() : memref<128xf32>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c0_2 = arith.constant 0 : index
  memref.dma_start %arg0[%c0], %alloc_1[%c0], %c128, %alloca_0[%c0_2] : memref<128xf32>, memref<128xf32>, memref<1xi32>
  %subview = memref.subview %alloc_1[0] [64] [1] : memref<128xf32> to memref<64xf32, strided<[1]>>
  %c0_3 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  memref.dma_wait %alloca_0[%c0_3], %c1 : memref<1xi32>
  linalg.exp ins(%subview : memref<64xf32, strided<[1]>>) outs(%alloc : memref<64xf32>)
  %c0_4 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c0_5 = arith.constant 0 : index
  memref.dma_start %alloc[%c0_4], %arg1[%c0_4], %c64, %alloca[%c0_5] : memref<64xf32>, memref<64xf32>, memref<1xi32>
  %alloc_6 = memref.alloc() : memref<64xf32>
  %c0_7 = arith.constant 0 : index
  %c1_8 = arith.constant 1 : index
  %c1_9 = arith.constant 1 : index
  %c0_10 = arith.constant 0 : index
  call @k.pe0(%c0_10, %alloc_6) {xtc.units = 4 : i64} : (index, memref<64xf32>) -> ()
  %c0_11 = arith.constant 0 : index
  %c1_12 = arith.constant 1 : index
  memref.dma_wait %alloca[%c0_11], %c1_12 : memref<1xi32>
  return
}
