// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --count-operations --canonicalize | FileCheck %s

// A product counts multiply-adds of its type: 0 is DEV_F32, 1 DEV_F16, 2 DEV_I8, 3 all others.

// CHECK-LABEL: func.func @products
// CHECK-DAG: %[[N:.*]] = arith.constant 64 : i64
// CHECK: linalg.matmul
// CHECK-NEXT: call @dev_count_macs(%c0_i32, %[[N]])
// CHECK: linalg.matmul
// CHECK-NEXT: call @dev_count_macs(%c1_i32, %[[N]])
// CHECK: linalg.matmul
// CHECK-NEXT: call @dev_count_macs(%c3_i32, %[[N]])
func.func @products(%a: memref<4x4xf32>, %h: memref<4x4xf16>, %d: memref<4x4xf64>) {
  linalg.matmul ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  linalg.matmul ins(%h, %h : memref<4x4xf16>, memref<4x4xf16>) outs(%a : memref<4x4xf32>)
  linalg.matmul ins(%d, %d : memref<4x4xf64>, memref<4x4xf64>) outs(%d : memref<4x4xf64>)
  return
}

// Others count the operations of their bodies, or what they write in pieces of 32 bytes.

// CHECK-LABEL: func.func @others
// CHECK-DAG: %[[BODY:.*]] = arith.constant 2000 : i64
// CHECK-DAG: %[[PIECES:.*]] = arith.constant 125 : i64
// CHECK: linalg.generic
// CHECK: call @dev_count_macs(%c3_i32, %[[BODY]])
// CHECK: linalg.fill
// CHECK-NEXT: call @dev_count_macs(%c3_i32, %[[PIECES]])
func.func @others(%a: memref<1000xf32>, %x: f32) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    outs(%a : memref<1000xf32>) {
  ^bb0(%e: f32):
    %y = math.exp %e : f32
    %z = arith.addf %y, %x : f32
    linalg.yield %z : f32
  }
  linalg.fill ins(%x : f32) outs(%a : memref<1000xf32>)
  return
}

// Where a size is known at run time, so is the number.

// CHECK-LABEL: func.func @tail
// CHECK: %[[SIZE:.*]] = memref.dim %arg0
// CHECK: %[[N:.*]] = arith.muli %[[SIZE]], %c128
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK: call @dev_count_macs(%c0_i32, %[[WIDE]])
func.func @tail(%a: memref<?x8xf32>, %b: memref<8x16xf32>, %c: memref<?x16xf32>) {
  linalg.matmul ins(%a, %b : memref<?x8xf32>, memref<8x16xf32>) outs(%c : memref<?x16xf32>)
  return
}
