// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-clusters{clusters=1} --start-transfers --outline-pe-functions{pes=4} --drop-memory-spaces --place-local-buffers='local-bytes=3932160 symbol=dev_smem' | FileCheck %s
// RUN: not xtc-opt %s --distribute-clusters{clusters=1} --start-transfers --outline-pe-functions{pes=4} --drop-memory-spaces --place-local-buffers='local-bytes=700 symbol=dev_smem' 2>&1 | FileCheck %s --check-prefix=FULL

// b and the private buffers are used only after the last use of a, so they get its place; c is used beside both, until its
// transfer has been waited for. Each PE has a private buffer of its own.

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
func.func @k(%A: memref<128xf32, 1>, %C: memref<64xf32, 1>) {
  scf.forall (%i) in (1) {
    %c = memref.alloc() : memref<64xf32, 2>
    %a = memref.alloc() : memref<128xf32, 2>
    memref.copy %A, %a : memref<128xf32, 1> to memref<128xf32, 2>
    %part = memref.subview %a[0] [64] [1] : memref<128xf32, 2> to memref<64xf32, strided<[1]>, 2>
    linalg.exp ins(%part : memref<64xf32, strided<[1]>, 2>) outs(%c : memref<64xf32, 2>)
    memref.copy %c, %C : memref<64xf32, 2> to memref<64xf32, 1>
    %b = memref.alloc() : memref<64xf32, 2>
    scf.forall (%p) in (4) {
      %own = memref.alloc() : memref<16xf32, 2>
      %from = memref.subview %b[%p] [16] [1] : memref<64xf32, 2> to memref<16xf32, strided<[1], offset: ?>, 2>
      linalg.exp ins(%from : memref<16xf32, strided<[1], offset: ?>, 2>) outs(%own : memref<16xf32, 2>)
    } {mapping = [#gpu.thread<linear_dim_0>]}
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
