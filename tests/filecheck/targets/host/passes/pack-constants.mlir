// RUN: xtc-opt %s --pack-constants | FileCheck %s

// The panels that a loop copies from a constant become a constant: one after the other, each in the
// order of its reads. The module records their origin, and unused constants are erased.

// CHECK:       module attributes {xtc.packed = {
// CHECK-SAME:    q.packed4 = [@q, memref<4x64x8xi8, strided<[8, 32, 1]>>],
// CHECK-SAME:    t.packed3 = [@t, memref<16x64xf32, strided<[1, 16]>>],
// CHECK-SAME:    w.packed0 = [@w, memref<2x48x32xf32, strided<[32, 80, 1]>>],
// CHECK-SAME:    w.packed1 = [@w, memref<48x16xf32, strided<[80, 1], offset: 64>>],
// CHECK-SAME:    x.packed2 = [@x, memref<2x4x16x8xf32, strided<[1024, 8, 32, 1]>>]
// CHECK-NOT:   memref.global constant @w :
// CHECK:       memref.global constant @w.packed0 : memref<2x48x32xf32> {alignment = 64 : i64}
// CHECK:       memref.global constant @w.packed1 : memref<48x16xf32> {alignment = 64 : i64}
memref.global constant @w : memref<48x80xf32> {alignment = 64 : i64}
memref.global constant @x : memref<64x32xf32> {alignment = 64 : i64}
memref.global constant @y : memref<64x32xf32> {alignment = 64 : i64}
memref.global constant @t : memref<64x16xf32> {alignment = 64 : i64}
memref.global @variable : memref<64x32xf32>

// CHECK-LABEL: func.func @panels
// CHECK:         %[[MEMREF:.*]] = memref.get_global @w.packed0
// CHECK:         %[[PANELS:.*]] = bufferization.to_tensor %[[MEMREF]] restrict
// CHECK:         memref.get_global @w.packed1
// CHECK:         %[[LAST:.*]] = bufferization.to_tensor
// CHECK:         scf.for %[[J:.*]] = %c0{{.*}} to %c64
// CHECK:           %[[NUMBER:.*]] = arith.divui %[[J]], %c32
// CHECK:           %[[PANEL:.*]] = tensor.extract_slice %[[PANELS]][%[[NUMBER]], 0, 0] [1, 48, 32] [1, 1, 1] : tensor<2x48x32xf32> to tensor<48x32xf32>
// CHECK:           linalg.matmul ins(%{{.*}}, %[[PANEL]]
// CHECK:         linalg.matmul ins(%{{.*}}, %[[LAST]]
func.func @panels(%a: tensor<8x48xf32>, %c: tensor<8x80xf32>) -> tensor<8x80xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %0 = memref.get_global @w : memref<48x80xf32>
  %w = bufferization.to_tensor %0 restrict : memref<48x80xf32> to tensor<48x80xf32>
  %main = scf.for %j = %c0 to %c64 step %c32 iter_args(%into = %c) -> (tensor<8x80xf32>) {
    %tile = tensor.extract_slice %w[0, %j] [48, 32] [1, 1] : tensor<48x80xf32> to tensor<48x32xf32>
    %panel = bufferization.alloc_tensor() copy(%tile) : tensor<48x32xf32>
    %part = tensor.extract_slice %into[0, %j] [8, 32] [1, 1] : tensor<8x80xf32> to tensor<8x32xf32>
    %sum = linalg.matmul ins(%a, %panel : tensor<8x48xf32>, tensor<48x32xf32>) outs(%part : tensor<8x32xf32>) -> tensor<8x32xf32>
    %next = tensor.insert_slice %sum into %into[0, %j] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<8x80xf32>
    scf.yield %next : tensor<8x80xf32>
  }
  %tile = tensor.extract_slice %w[0, 64] [48, 16] [1, 1] : tensor<48x80xf32> to tensor<48x16xf32>
  %panel = bufferization.alloc_tensor() copy(%tile) : tensor<48x16xf32>
  %part = tensor.extract_slice %main[0, 64] [8, 16] [1, 1] : tensor<8x80xf32> to tensor<8x16xf32>
  %sum = linalg.matmul ins(%a, %panel : tensor<8x48xf32>, tensor<48x16xf32>) outs(%part : tensor<8x16xf32>) -> tensor<8x16xf32>
  %all = tensor.insert_slice %sum into %main[0, 64] [8, 16] [1, 1] : tensor<8x16xf32> into tensor<8x80xf32>
  return %all : tensor<8x80xf32>
}

// Slices of slices; threads share the outer ones.

// CHECK-LABEL: func.func @blocks
// CHECK:         %[[ROW:.*]] = arith.muli
// CHECK:         %[[FIRST:.*]] = arith.divui %[[ROW]], %c32
// CHECK:         %[[SECOND:.*]] = arith.divui %{{.*}}, %c8
// CHECK:         tensor.extract_slice %{{.*}}[%[[FIRST]], %[[SECOND]], 0, 0] [1, 1, 16, 8]
func.func @blocks(%number: index, %a: tensor<4x16xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %0 = memref.get_global @x : memref<64x32xf32>
  %x = bufferization.to_tensor %0 restrict : memref<64x32xf32> to tensor<64x32xf32>
  %row = arith.muli %number, %c32 : index
  %rows = tensor.extract_slice %x[%row, 0] [16, 32] [1, 1] : tensor<64x32xf32> to tensor<16x32xf32>
  %sums = scf.for %j = %c0 to %c32 step %c8 iter_args(%into = %c) -> (tensor<4x8xf32>) {
    %tile = tensor.extract_slice %rows[0, %j] [16, 8] [1, 1] : tensor<16x32xf32> to tensor<16x8xf32>
    %panel = bufferization.alloc_tensor() copy(%tile) : tensor<16x8xf32>
    %sum = linalg.matmul ins(%a, %panel : tensor<4x16xf32>, tensor<16x8xf32>) outs(%into : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %sum : tensor<4x8xf32>
  }
  return %sums : tensor<4x8xf32>
}

// A transposed constant is stored transposed.

// CHECK-LABEL: func.func @transposed
// CHECK:         %[[MEMREF:.*]] = memref.get_global @t.packed3 : memref<16x64xf32>
// CHECK:         %[[TRANSPOSED:.*]] = bufferization.to_tensor %[[MEMREF]] restrict
// CHECK-NEXT:    linalg.matmul ins(%{{.*}}, %[[TRANSPOSED]]
func.func @transposed(%a: tensor<8x16xf32>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = memref.get_global @t : memref<64x16xf32>
  %t = bufferization.to_tensor %0 restrict : memref<64x16xf32> to tensor<64x16xf32>
  %empty = tensor.empty() : tensor<16x64xf32>
  %other = linalg.transpose ins(%t : tensor<64x16xf32>) outs(%empty : tensor<16x64xf32>) permutation = [1, 0]
  %sum = linalg.matmul ins(%a, %other : tensor<8x16xf32>, tensor<16x64xf32>) outs(%c : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %sum : tensor<8x64xf32>
}

// Unchanged: a copy that is written, tiles that may overlap, and sources that are not constant.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: bufferization.alloc_tensor() copy
func.func @others(%n: index, %a: tensor<8x64xf32>, %c: tensor<8x32xf32>) -> (tensor<64x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = memref.get_global @y : memref<64x32xf32>
  %y = bufferization.to_tensor %0 restrict : memref<64x32xf32> to tensor<64x32xf32>
  %1 = memref.get_global @variable : memref<64x32xf32>
  %v = bufferization.to_tensor %1 restrict : memref<64x32xf32> to tensor<64x32xf32>
  %written = bufferization.alloc_tensor() copy(%y) : tensor<64x32xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%written : tensor<64x32xf32>) -> tensor<64x32xf32>
  %rows = tensor.extract_slice %y[%n, 0] [32, 32] [1, 1] : tensor<64x32xf32> to tensor<32x32xf32>
  %overlapping = bufferization.alloc_tensor() copy(%rows) : tensor<32x32xf32>
  %part = tensor.extract_slice %a[0, 0] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
  %first = linalg.matmul ins(%part, %overlapping : tensor<8x32xf32>, tensor<32x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  %other = bufferization.alloc_tensor() copy(%v) : tensor<64x32xf32>
  %second = linalg.matmul ins(%a, %other : tensor<8x64xf32>, tensor<64x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %filled, %first, %second : tensor<64x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}

// Tiles that an elementwise operation widens in a loop are stored one after the other, too.

// CHECK-LABEL: func.func @widened
// CHECK:         memref.get_global @q.packed4 : memref<4x64x8xi8>
// CHECK:         scf.for
// CHECK:           tensor.extract_slice %{{.*}}[%{{.*}}, 0, 0] [1, 64, 8] [1, 1, 1] : tensor<4x64x8xi8> to tensor<64x8xi8>
// CHECK:           arith.sitofp
memref.global constant @q : memref<64x32xi8> {alignment = 64 : i64}
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @widened(%a: tensor<4x64xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %0 = memref.get_global @q : memref<64x32xi8>
  %q = bufferization.to_tensor %0 restrict : memref<64x32xi8> to tensor<64x32xi8>
  %sums = scf.for %j = %c0 to %c32 step %c8 iter_args(%into = %c) -> (tensor<4x8xf32>) {
    %tile = tensor.extract_slice %q[0, %j] [64, 8] [1, 1] : tensor<64x32xi8> to tensor<64x8xi8>
    %empty = tensor.empty() : tensor<64x8xf32>
    %wide = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%tile : tensor<64x8xi8>) outs(%empty : tensor<64x8xf32>) {
    ^bb0(%in: i8, %out: f32):
      %number = arith.sitofp %in : i8 to f32
      linalg.yield %number : f32
    } -> tensor<64x8xf32>
    %sum = linalg.matmul ins(%a, %wide : tensor<4x64xf32>, tensor<64x8xf32>) outs(%into : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %sum : tensor<4x8xf32>
  }
  return %sums : tensor<4x8xf32>
}
