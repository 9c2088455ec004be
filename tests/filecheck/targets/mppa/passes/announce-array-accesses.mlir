// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --announce-array-accesses | FileCheck %s

// CHECK: func.func private @dev_access(index, index, i64, i32)
func.func private @dev_smem() -> memref<4096xi8>
func.func private @uk_mma_4x4_f16(index, index, index, index, index, index, index, index)

// An access is reported with the address of its buffer, which is an argument or a part of SMEM.

// CHECK-LABEL: func.func @pe
// CHECK: %[[A:.*]] = memref.extract_aligned_pointer_as_index %arg0
// CHECK: %[[FROM:.*]] = memref.extract_aligned_pointer_as_index %arg0
// CHECK: %[[ROWS:.*]] = arith.muli %arg1, %c64
// CHECK: %[[ROW:.*]] = arith.addi %[[FROM]], %[[ROWS]]
// CHECK: %[[COLUMN:.*]] = arith.muli %arg1, %c4
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[COLUMN]]
// CHECK: %[[SIZE:.*]] = arith.index_cast %c4{{.*}} : index to i64
// CHECK: call @dev_access(%[[A]], %[[AT]], %[[SIZE]], %c0_i32)
// CHECK-NEXT: memref.load %arg0
// CHECK: %[[TILE:.*]] = memref.view
// CHECK: %[[BASE:.*]] = memref.extract_aligned_pointer_as_index %[[TILE]]
// CHECK: %[[SIZE:.*]] = arith.index_cast %c16{{.*}} : index to i64
// CHECK: call @dev_access(%[[BASE]], %{{.*}}, %[[SIZE]], %c1_i32)
// CHECK-NEXT: vector.store
func.func @pe(%a: memref<8x16xf32>, %i: index) {
  %x = memref.load %a[%i, %i] : memref<8x16xf32>
  %v = vector.broadcast %x : f32 to vector<4xf32>
  %c256 = arith.constant 256 : index
  %smem = call @dev_smem() : () -> memref<4096xi8>
  %tile = memref.view %smem[%c256][] : memref<4096xi8> to memref<64xf32>
  vector.store %v, %tile[%i] : memref<64xf32>, vector<4xf32>
  return
}

// Only the active elements of a masked vector are reported.

// CHECK-LABEL: func.func @masked
// CHECK: %[[LOW:.*]] = arith.minsi %arg1, %c8
// CHECK: %[[LANES:.*]] = arith.maxsi %[[LOW]], %c0
// CHECK: %[[BYTES:.*]] = arith.muli %[[LANES]], %c2
// CHECK: %[[SIZE:.*]] = arith.index_cast %[[BYTES]]
// CHECK: call @dev_access(%{{.*}}, %{{.*}}, %[[SIZE]], %c0_i32)
// CHECK-NEXT: vector.maskedload
func.func @masked(%a: memref<64xf16>, %n: index, %rest: vector<8xf16>) -> vector<8xf16> {
  %c0 = arith.constant 0 : index
  %mask = vector.create_mask %n : vector<8xi1>
  %v = vector.maskedload %a[%c0], %mask, %rest : memref<64xf16>, vector<8xi1>, vector<8xf16> into vector<8xf16>
  return %v : vector<8xf16>
}

// A micro-kernel reports its accesses; the addresses of its operands are reported before it.

// CHECK-LABEL: func.func @kernel
// CHECK: call @dev_access(%[[P:[^,]*]], %[[P]],
// CHECK: call @dev_access(%[[P]], %[[Q:[^,]*]],
// CHECK: call @dev_access(%[[P]], %[[P]],
// CHECK: call @uk_mma_4x4_f16(%arg1, %[[P]], %arg1, %arg1, %[[Q]],
func.func @kernel(%a: memref<64xf16>, %k: index) {
  %p = memref.extract_aligned_pointer_as_index %a : memref<64xf16> -> index
  %q = arith.addi %p, %k : index
  call @uk_mma_4x4_f16(%k, %p, %k, %k, %q, %k, %p, %k) : (index, index, index, index, index, index, index, index) -> ()
  return
}

// The stack is private to a PE.

// CHECK-LABEL: func.func @own
// CHECK-NOT: dev_access
func.func @own(%x: i32) {
  %c0 = arith.constant 0 : index
  %own = memref.alloca() : memref<1xi32>
  memref.store %x, %own[%c0] : memref<1xi32>
  return
}
