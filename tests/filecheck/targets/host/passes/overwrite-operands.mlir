// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --overwrite-operands | FileCheck %s

#same = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>

// A chain ends in the argument for its result, though shapes differ; arguments that are read are not
// overwritten.

// CHECK-LABEL: func.func @chain
// CHECK-NOT:   memref.alloc
// CHECK:       %[[FLAT:.*]] = memref.reinterpret_cast %arg2 {{.*}} to memref<64xf32>
// CHECK:       linalg.exp ins(%arg0 : {{.*}}) outs(%arg2 :
// CHECK:       linalg.add ins(%arg2, %arg1 : {{.*}}) outs(%arg2 :
// CHECK:       %[[VIEW:.*]] = memref.collapse_shape %arg2
// CHECK:       linalg.abs ins(%[[VIEW]] : {{.*}}) outs(%[[FLAT]] :
// CHECK:       %[[BACK:.*]] = memref.expand_shape %[[FLAT]]
// CHECK:       linalg.log ins(%[[BACK]] : {{.*}}) outs(%arg2 :
func.func @chain(%x: memref<8x8xf32> {llvm.noalias}, %y: memref<8x8xf32> {llvm.noalias}, %z: memref<8x8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<8x8xf32>
  %b = memref.alloc() : memref<8x8xf32>
  %c = memref.alloc() : memref<64xf32>
  linalg.exp ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>)
  linalg.add ins(%a, %y : memref<8x8xf32>, memref<8x8xf32>) outs(%b : memref<8x8xf32>)
  %flat = memref.collapse_shape %b [[0, 1]] : memref<8x8xf32> into memref<64xf32>
  linalg.abs ins(%flat : memref<64xf32>) outs(%c : memref<64xf32>)
  %back = memref.expand_shape %c [[0, 1]] output_shape [8, 8] : memref<64xf32> into memref<8x8xf32>
  linalg.log ins(%back : memref<8x8xf32>) outs(%z : memref<8x8xf32>)
  return
}

// Each iteration has read its rows before it writes them, though it reads them twice.

// CHECK-LABEL: func.func @rows
// CHECK-COUNT-2: memref.alloc
// CHECK-NOT:     memref.alloc
func.func @rows(%x: memref<64x8xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<64x8xf32>
  %b = memref.alloc() : memref<64x8xf32>
  %c4 = arith.constant 4 : index
  linalg.exp ins(%x : memref<64x8xf32>) outs(%a : memref<64x8xf32>)
  scf.forall (%i) in (16) {
    %row = arith.muli %i, %c4 : index
    %old = memref.subview %a[%row, 0] [4, 8] [1, 1] : memref<64x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
    %new = memref.subview %b[%row, 0] [4, 8] [1, 1] : memref<64x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
    %sums = memref.alloc() : memref<4xf32>
    linalg.reduce { arith.addf } ins(%old : memref<4x8xf32, strided<[8, 1], offset: ?>>) outs(%sums : memref<4xf32>) dimensions = [1]
    linalg.generic {indexing_maps = [#same, affine_map<(d0, d1) -> (d0)>, #same], iterator_types = ["parallel", "parallel"]}
      ins(%old, %sums : memref<4x8xf32, strided<[8, 1], offset: ?>>, memref<4xf32>) outs(%new : memref<4x8xf32, strided<[8, 1], offset: ?>>) {
    ^bb0(%in: f32, %sum: f32, %out: f32):
      %1 = arith.divf %in, %sum : f32
      linalg.yield %1 : f32
    }
  }
  linalg.reduce { arith.addf } ins(%b : memref<64x8xf32>) outs(%z : memref<8xf32>) dimensions = [0]
  return
}

// Iterations overlap: the next one would read the elements that one writes.

// CHECK-LABEL: func.func @overlap
// CHECK-COUNT-2: memref.alloc
func.func @overlap(%x: memref<64x8xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<64x8xf32>
  %b = memref.alloc() : memref<64x8xf32>
  linalg.exp ins(%x : memref<64x8xf32>) outs(%a : memref<64x8xf32>)
  scf.forall (%i) in (61) {
    %old = memref.subview %a[%i, 0] [4, 8] [1, 1] : memref<64x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
    %new = memref.subview %b[%i, 0] [4, 8] [1, 1] : memref<64x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
    linalg.abs ins(%old : memref<4x8xf32, strided<[8, 1], offset: ?>>) outs(%new : memref<4x8xf32, strided<[8, 1], offset: ?>>)
  }
  linalg.reduce { arith.addf } ins(%b : memref<64x8xf32>) outs(%z : memref<8xf32>) dimensions = [0]
  return
}

// The result holds sums before the residual is read, as in a contraction's loops.

// CHECK-LABEL: func.func @epilogue
// CHECK-COUNT-2: memref.alloc
func.func @epilogue(%x: memref<64x8xf32> {llvm.noalias}, %w: memref<8x8xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<64x8xf32>
  %b = memref.alloc() : memref<64x8xf32>
  linalg.exp ins(%x : memref<64x8xf32>) outs(%a : memref<64x8xf32>)
  scf.forall (%i) in (64) {
    %row = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<64x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %old = memref.subview %a[%i, 0] [1, 8] [1, 1] : memref<64x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    %new = memref.subview %b[%i, 0] [1, 8] [1, 1] : memref<64x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    linalg.matmul ins(%row, %w : memref<1x8xf32, strided<[8, 1], offset: ?>>, memref<8x8xf32>) outs(%new : memref<1x8xf32, strided<[8, 1], offset: ?>>)
    linalg.add ins(%new, %old : memref<1x8xf32, strided<[8, 1], offset: ?>>, memref<1x8xf32, strided<[8, 1], offset: ?>>) outs(%new : memref<1x8xf32, strided<[8, 1], offset: ?>>)
  }
  linalg.reduce { arith.addf } ins(%b : memref<64x8xf32>) outs(%z : memref<8xf32>) dimensions = [0]
  return
}

// Elements are read at other positions than written, or read again later.

// CHECK-LABEL: func.func @elsewhere
// CHECK-COUNT-3: memref.alloc
func.func @elsewhere(%x: memref<8x8xf32> {llvm.noalias}, %z: memref<8x8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<8x8xf32>
  %b = memref.alloc() : memref<8x8xf32>
  %c = memref.alloc() : memref<8x8xf32>
  linalg.exp ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x8xf32>) outs(%b : memref<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.absf %in : f32
    linalg.yield %1 : f32
  }
  linalg.log ins(%b : memref<8x8xf32>) outs(%c : memref<8x8xf32>)
  linalg.matmul ins(%b, %c : memref<8x8xf32>, memref<8x8xf32>) outs(%z : memref<8x8xf32>)
  return
}

// The caller's contents of an argument are read.

// CHECK-LABEL: func.func @held
// CHECK:       memref.alloc
func.func @held(%x: memref<8x8xf32> {llvm.noalias}, %z: memref<8x8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<8x8xf32>
  linalg.exp ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : memref<8x8xf32>) outs(%z : memref<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %in, %out : f32
    linalg.yield %1 : f32
  }
  return
}
