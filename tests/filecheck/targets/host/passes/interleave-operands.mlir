// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--interleave-operands{features=avx512bf16,avx512vnni}' | FileCheck %s
// RUN: xtc-opt %s '--interleave-operands{features=bf16,dotprod}' | FileCheck %s --check-prefix=ARM

// Pairs in a row of operand A are neighbors: a view. The panel is interleaved when it is packed.

// CHECK-LABEL: func.func @pairs
// CHECK: %[[A:.*]] = tensor.expand_shape %arg0 {{\[\[0\], \[1, 2\]\]}} output_shape [8, 32, 2]
// CHECK: %[[B:.*]] = tensor.expand_shape %arg1 {{\[\[0, 1\], \[2\]\]}} output_shape [32, 2, 64]
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[B]] : tensor<32x2x64xbf16>) outs({{.*}} : tensor<32x64x2xbf16>)
// CHECK: linalg.generic {{.*}}"parallel", "parallel", "reduction", "reduction"{{.*}} ins(%[[A]], %[[P]] :
// CHECK-SAME: loop.dims = ["i", "j", "k", "t"]
// CHECK-SAME: loop.schedule = [{axis = "j", fuse = array<i64: 1>}, {axis = "i"}, {axis = "k"}, {axis = "i", tile = 4 : i64, unroll = 4 : i64}, {axis = "j", tile = 32 : i64, vectorize}, {axis = "t", vectorize}]
// CHECK-SAME: xtc.dot
// CHECK: arith.extf %{{.*}} : bf16 to f32
func.func @pairs(%a: tensor<8x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["j=pack:1", "i", "k", "i#4=unroll", "j#32=vectorize", "k#2=vectorize"]}
      ins(%a, %b : tensor<8x64xbf16>, tensor<64x64xbf16>) outs(%c : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// vpdpbusd takes the first operand as unsigned: 128 is added to it, and the effect is subtracted.
// sdot uses both directly.

// CHECK-LABEL: func.func @quadruples
// CHECK: arith.extsi %{{.*}} : i8 to i32
// CHECK: %[[TIMES:.*]] = arith.constant -128 : i32
// CHECK: arith.muli %{{.*}}, %[[TIMES]] : i32
// CHECK: arith.xori %{{.*}}, %c-128_i8{{.*}} : i8
// CHECK: xtc.dot
// CHECK: arith.extui %{{.*}} : i8 to i32
// CHECK: arith.extsi %{{.*}} : i8 to i32
// ARM-LABEL: func.func @quadruples
// ARM-NOT: -128
// ARM-NOT: arith.extui
// ARM: xtc.dot
func.func @quadruples(%a: tensor<8x64xi8>, %b: tensor<64x64xi8>, %c: tensor<8x64xi32>) -> tensor<8x64xi32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["j", "i", "k", "j#32=vectorize", "k#4=vectorize"]}
      ins(%a, %b : tensor<8x64xi8>, tensor<64x64xi8>) outs(%c : tensor<8x64xi32>) -> tensor<8x64xi32>
  return %0 : tensor<8x64xi32>
}

// A K extent of 7 is padded by one zero, rows of 61 columns by three.

// CHECK-LABEL: func.func @rest
// CHECK: tensor.insert_slice %arg2 into %{{.*}}[0, 0] [5, 61] [1, 1] : tensor<5x61xf32> into tensor<5x64xf32>
// CHECK: tensor.insert_slice %arg0 into %{{.*}}[0, 0] [5, 7] [1, 1] : tensor<5x7xbf16> into tensor<5x8xbf16>
// CHECK: tensor.insert_slice %arg1 into %{{.*}}[0, 0] [7, 61] [1, 1] : tensor<7x61xbf16> into tensor<8x64xbf16>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<5x4x2xbf16>, tensor<4x64x2xbf16>) outs(%{{.*}} : tensor<5x64xf32>)
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [5, 61] [1, 1] : tensor<5x64xf32> to tensor<5x61xf32>
func.func @rest(%a: tensor<5x7xbf16>, %b: tensor<7x61xbf16>, %c: tensor<5x61xf32>) -> tensor<5x61xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["j", "i", "k", "j#32=vectorize", "k#2=vectorize"]}
      ins(%a, %b : tensor<5x7xbf16>, tensor<7x61xbf16>) outs(%c : tensor<5x61xf32>) -> tensor<5x61xf32>
  return %0 : tensor<5x61xf32>
}

// Both operands transposed: pairs of A are stored side by side; instead of a transposed copy of the
// panel, the source of the copy is read.

#a = affine_map<(i, j, k) -> (k, i)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: func.func @transposed
// CHECK: %[[A:.*]] = tensor.expand_shape %arg0 {{\[\[0, 1\], \[2\]\]}} output_shape [32, 2, 8]
// CHECK: linalg.generic {{.*}} ins(%[[A]] : tensor<32x2x8xbf16>) outs(%{{.*}} : tensor<32x8x2xbf16>)
// CHECK: tensor.expand_shape %arg1 {{\[\[0\], \[1, 2\]\]}} output_shape [32, 32, 2]
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<32x32x2xbf16>) outs(%{{.*}} : tensor<32x32x2xbf16>)
func.func @transposed(%a: tensor<64x8xbf16>, %b: tensor<32x64xbf16>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %e = tensor.empty() : tensor<64x32xbf16>
  %t = linalg.transpose ins(%b : tensor<32x64xbf16>) outs(%e : tensor<64x32xbf16>) permutation = [1, 0]
  %0 = linalg.matmul indexing_maps = [#a, #b, #c] {loop.dims = ["i", "j", "k"], loop.schedule = ["i", "k", "j=vectorize", "k#2=vectorize"]}
      ins(%a, %t : tensor<64x8xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// Other schedules are unchanged.

// CHECK-LABEL: func.func @plain
// CHECK-NOT: xtc.dot
func.func @plain(%a: tensor<8x64xbf16>, %b: tensor<64x32xbf16>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["i", "k", "j=vectorize"]}
      ins(%a, %b : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
