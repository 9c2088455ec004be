// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --count-operations --canonicalize | FileCheck %s

// A contraction counts multiply-adds of its type: 0 is DEV_F32, 1 DEV_F16, 2 DEV_I8, 3 all others.

// CHECK-LABEL: func.func @products
// CHECK-DAG: %[[N:.*]] = arith.constant 64 : i64
// CHECK-DAG: %[[TWICE:.*]] = arith.constant 128 : i64
// CHECK: linalg.matmul
// CHECK-NOT: call
// CHECK: return_point
// CHECK: call @dev_count_macs(%c0_i32, %[[TWICE]])
// CHECK-NEXT: call @dev_count_macs(%c1_i32, %[[N]])
// CHECK-NEXT: call @dev_count_macs(%c3_i32, %[[N]])
// CHECK-NEXT: return
func.func @products(%a: memref<4x4xf32>, %h: memref<4x4xf16>, %d: memref<4x4xf64>) {
  linalg.matmul ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  linalg.matmul ins(%h, %h : memref<4x4xf16>, memref<4x4xf16>) outs(%a : memref<4x4xf32>)
  linalg.matmul ins(%d, %d : memref<4x4xf64>, memref<4x4xf64>) outs(%d : memref<4x4xf64>)
  linalg.matmul {return_point} ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  return
}

// Other operations count those of their bodies, or the written data in pieces of 32 bytes.

// CHECK-LABEL: func.func @body
// CHECK: %[[BODY:.*]] = arith.constant 2000 : i64
// CHECK: call @dev_count_macs(%c3_i32, %[[BODY]])
func.func @body(%a: memref<1000xf32>, %x: f32) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    outs(%a : memref<1000xf32>) {
  ^bb0(%e: f32):
    %y = math.exp %e : f32
    %z = arith.addf %y, %x : f32
    linalg.yield %z : f32
  }
  return
}

// CHECK-LABEL: func.func @fill
// CHECK: %[[PIECES:.*]] = arith.constant 125 : i64
// CHECK: call @dev_count_macs(%c3_i32, %[[PIECES]])
func.func @fill(%a: memref<1000xf32>, %x: f32) {
  linalg.fill ins(%x : f32) outs(%a : memref<1000xf32>)
  return
}

// Vectors count their lanes, in all iterations: 8 times 16 products, and 8 roots of 16 numbers.
// Indices and constants are free.

// CHECK-LABEL: func.func @vectors
// CHECK: scf.for
// CHECK-NOT: call
// CHECK: }
// CHECK-DAG: call @dev_count_macs(%c0_i32, %c128_i64)
// CHECK-DAG: call @dev_count_macs(%c3_i32, %c128_i64)
func.func @vectors(%a: memref<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %j = arith.muli %i, %c1 : index
    %x = vector.load %a[%j, %c0] : memref<8x16xf32>, vector<16xf32>
    %p = arith.mulf %x, %x : vector<16xf32>
    %s = arith.addf %p, %x : vector<16xf32>
    %r = math.sqrt %s : vector<16xf32>
    vector.store %r, %a[%j, %c0] : memref<8x16xf32>, vector<16xf32>
  }
  return
}

// A loop over PEs takes time, so earlier counts are reported before it; each PE reports its own.

// CHECK-LABEL: func.func @pes
// CHECK: linalg.matmul
// CHECK-NEXT: func.call @dev_count_macs(%c0_i32, %c64_i64)
// CHECK-NEXT: scf.forall
// CHECK: linalg.fill
// CHECK-NEXT: func.call @dev_count_macs(%c3_i32, %c2_i64)
// CHECK-NEXT: } {mapping
func.func @pes(%a: memref<4x4xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    linalg.matmul ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
    scf.forall (%p) in (16) {
      linalg.fill ins(%x : f32) outs(%a : memref<4x4xf32>)
    } {mapping = [#gpu.thread<linear_dim_0>]}
  }
  return
}

// If a size is known only at run time, so is the count.

// CHECK-LABEL: func.func @tail
// CHECK: %[[SIZE:.*]] = memref.dim %arg0
// CHECK: %[[N:.*]] = arith.muli %[[SIZE]], %c128
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK: call @dev_count_macs(%c0_i32, %[[WIDE]])
func.func @tail(%a: memref<?x8xf32>, %b: memref<8x16xf32>, %c: memref<?x16xf32>) {
  linalg.matmul ins(%a, %b : memref<?x8xf32>, memref<8x16xf32>) outs(%c : memref<?x16xf32>)
  return
}

// The bytes of DDR that a PE accesses itself: lines of 64 bytes, four of each operand; then four of a vector,
// and one of an accumulator that stays in a register.

// CHECK-LABEL: func.func @from_ddr
// CHECK: %[[COUNT:.*]] = arith.constant 8 : i64
// CHECK: call @dev_count_ddr(%[[COUNT]])
// CHECK-LABEL: func.func @scalars
// CHECK: %[[COUNT:.*]] = arith.constant 5 : i64
// CHECK: call @dev_count_ddr(%[[COUNT]])
func.func @from_ddr(%a: memref<8x8xf32, 1>, %b: memref<8x8xf32, 1>, %c: memref<8x8xf32, 2>) {
  linalg.matmul ins(%a, %b : memref<8x8xf32, 1>, memref<8x8xf32, 1>) outs(%c : memref<8x8xf32, 2>)
  return
}
func.func @scalars(%a: memref<64xf32, 1>, %s: memref<f32, 1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %x = memref.load %a[%i] : memref<64xf32, 1>
    %t = memref.load %s[] : memref<f32, 1>
    %u = arith.addf %t, %x : f32
    memref.store %u, %s[] : memref<f32, 1>
  }
  return
}
