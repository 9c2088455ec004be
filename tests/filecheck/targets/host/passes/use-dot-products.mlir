// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--use-dot-products{features=avx512bf16,avx512vnni}' | FileCheck %s
// RUN: xtc-opt %s '--use-dot-products{features=avx2}' | FileCheck %s --check-prefix=AVX2

#t = affine_map<(j, t) -> (t)>
#jt = affine_map<(j, t) -> (j, t)>
#j = affine_map<(j, t) -> (j)>

// 20 accumulators: an instruction for 16 and one for 4. The two elements of K are one word, broadcast.

// CHECK-LABEL: func.func @pairs
// CHECK-SAME: (%[[A:.*]]: memref<2xbf16>, %[[B:.*]]: memref<20x2xbf16>, %[[C:.*]]: memref<20xf32>)
// CHECK: %[[TERMS:.*]] = vector.load %[[A]]{{.*}} : memref<2xbf16>, vector<2xbf16>
// CHECK: vector.bitcast %[[TERMS]] : vector<2xbf16> to vector<1xi32>
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %[[B]] {{.*}} into memref<40xbf16>
// CHECK: vector.broadcast %{{.*}} : i32 to vector<16xi32>
// CHECK: vector.load %[[FLAT]]{{.*}} : memref<40xbf16>, vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK: vector.store %{{.*}}, %[[C]]{{.*}} : memref<20xf32>, vector<16xf32>
// CHECK: vector.broadcast %{{.*}} : i32 to vector<4xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.128"
// CHECK-NOT: linalg.generic
// AVX2-LABEL: func.func @pairs
// AVX2: linalg.generic
func.func @pairs(%a: memref<2xbf16>, %b: memref<20x2xbf16>, %c: memref<20xf32>) {
  linalg.generic {indexing_maps = [#t, #jt, #j], iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : memref<2xbf16>, memref<20x2xbf16>) outs(%c : memref<20xf32>) attrs = {xtc.dot} {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %s, %2 : f32
    linalg.yield %3 : f32
  }
  return
}

// Without an accumulating instruction, one instruction multiplies and another one adds.

// CHECK-LABEL: func.func @words
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.256"
// AVX2-LABEL: func.func @words
// AVX2: %[[SUM:.*]] = vector.load %arg2
// AVX2: %[[P:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// AVX2: arith.addi %[[SUM]], %[[P]] : vector<8xi32>
func.func @words(%a: memref<2xi16>, %b: memref<8x2xi16>, %c: memref<8xi32>) {
  linalg.generic {indexing_maps = [#t, #jt, #j], iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : memref<2xi16>, memref<8x2xi16>) outs(%c : memref<8xi32>) attrs = {xtc.dot} {
  ^bb0(%x: i16, %y: i16, %s: i32):
    %0 = arith.extsi %x : i16 to i32
    %1 = arith.extsi %y : i16 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %s, %2 : i32
    linalg.yield %3 : i32
  }
  return
}

// Strided accumulators stay loops.

// CHECK-LABEL: func.func @apart
// CHECK: linalg.generic
func.func @apart(%a: memref<2xi16>, %b: memref<8x2xi16>, %c: memref<8xi32, strided<[3]>>) {
  linalg.generic {indexing_maps = [#t, #jt, #j], iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : memref<2xi16>, memref<8x2xi16>) outs(%c : memref<8xi32, strided<[3]>>) attrs = {xtc.dot} {
  ^bb0(%x: i16, %y: i16, %s: i32):
    %0 = arith.extsi %x : i16 to i32
    %1 = arith.extsi %y : i16 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %s, %2 : i32
    linalg.yield %3 : i32
  }
  return
}
