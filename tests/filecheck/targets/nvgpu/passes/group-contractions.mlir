// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --group-contractions | FileCheck %s
// RUN: xtc-opt %s --group-contractions{tf32=true} | FileCheck %s --check-prefix=TF32

#whole = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// The contraction and its initial zeros move to the operation that rounds its result.
// CHECK-LABEL: func.func @rounded(
// CHECK-NOT:   linalg.fill
// CHECK:       math.exp
// CHECK:       linalg.fill {xtc.kernel = 0 : i64}
// CHECK-NEXT:  linalg.matmul {xtc.kernel = 0 : i64}
// CHECK-NEXT:  linalg.generic
// CHECK-SAME:  xtc.kernel = 0 : i64
func.func @rounded(%a: tensor<32x64xf16>, %b: tensor<64x48xf16>, %x: tensor<48xf32>) -> tensor<32x48xf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%a, %b : tensor<32x64xf16>, tensor<64x48xf16>)
       outs(%z : tensor<32x48xf32>) -> tensor<32x48xf32>
  %f = tensor.empty() : tensor<48xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
       iterator_types = ["parallel"]}
       ins(%x : tensor<48xf32>) outs(%f : tensor<48xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<48xf32>
  %g = tensor.empty() : tensor<32x48xf16>
  %r = linalg.generic {indexing_maps = [#whole, #row, #whole],
       iterator_types = ["parallel", "parallel"]}
       ins(%m, %y : tensor<32x48xf32>, tensor<48xf32>) outs(%g : tensor<32x48xf16>) {
  ^bb0(%in: f32, %bias: f32, %out: f16):
    %v = arith.addf %in, %bias : f32
    %w = arith.truncf %v : f32 to f16
    linalg.yield %w : f16
  } -> tensor<32x48xf16>
  return %r : tensor<32x48xf16>
}

// Two contractions that share their zeros, and an operation that reads both: it joins the first.
// CHECK-LABEL: func.func @two(
// CHECK:       linalg.fill {xtc.kernel = 1 : i64}
// CHECK:       linalg.matmul {xtc.kernel = 1 : i64}
// CHECK:       linalg.fill {xtc.kernel = 0 : i64}
// CHECK:       linalg.matmul {xtc.kernel = 0 : i64}
// CHECK:       linalg.generic
// CHECK-SAME:  xtc.kernel = 0 : i64
func.func @two(%a: tensor<32x64xbf16>, %b: tensor<64x48xbf16>, %c: tensor<64x48xbf16>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%a, %b : tensor<32x64xbf16>, tensor<64x48xbf16>)
       outs(%z : tensor<32x48xf32>) -> tensor<32x48xf32>
  %n = linalg.matmul ins(%a, %c : tensor<32x64xbf16>, tensor<64x48xbf16>)
       outs(%z : tensor<32x48xf32>) -> tensor<32x48xf32>
  %r = linalg.generic {indexing_maps = [#whole, #whole, #whole],
       iterator_types = ["parallel", "parallel"]}
       ins(%m, %n : tensor<32x48xf32>, tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %v = arith.addf %x, %y : f32
    linalg.yield %v : f32
  } -> tensor<32x48xf32>
  return %r : tensor<32x48xf32>
}

// float32 is grouped only if the option allows it.
// CHECK-LABEL: func.func @wide(
// CHECK-NOT:   xtc.kernel
// CHECK:       return
// TF32-LABEL:  func.func @wide(
// TF32:        linalg.matmul {xtc.kernel = 0 : i64}
func.func @wide(%a: tensor<32x64xf32>, %b: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x48xf32>)
       outs(%z : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %m : tensor<32x48xf32>
}

// A single row and a longer K extent: reading B takes longer than multiplying zeros.
// CHECK-LABEL: func.func @row(
// CHECK:       linalg.matmul {xtc.kernel = 0 : i64}
func.func @row(%a: tensor<1x64xf16>, %b: tensor<64x48xf16>) -> tensor<1x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x48xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x48xf32>) -> tensor<1x48xf32>
  %m = linalg.matmul ins(%a, %b : tensor<1x64xf16>, tensor<64x48xf16>)
       outs(%z : tensor<1x48xf32>) -> tensor<1x48xf32>
  return %m : tensor<1x48xf32>
}

// Few rows and a short K extent; initial values other than zero; a user schedule.
// CHECK-LABEL: func.func @few(
// CHECK-NOT:   xtc.kernel
// CHECK:       return
// TF32:        func.func @few(
func.func @few(%a: tensor<15x63xf16>, %b: tensor<63x48xf16>) -> tensor<15x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<15x48xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<15x48xf32>) -> tensor<15x48xf32>
  %m = linalg.matmul ins(%a, %b : tensor<15x63xf16>, tensor<63x48xf16>)
       outs(%z : tensor<15x48xf32>) -> tensor<15x48xf32>
  return %m : tensor<15x48xf32>
}
// CHECK-LABEL: func.func @begun(
// CHECK-NOT:   xtc.kernel
// CHECK:       return
func.func @begun(%a: tensor<32x64xf16>, %b: tensor<64x48xf16>) -> tensor<32x48xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %z = linalg.fill ins(%one : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul ins(%a, %b : tensor<32x64xf16>, tensor<64x48xf16>)
       outs(%z : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %m : tensor<32x48xf32>
}
// CHECK-LABEL: func.func @scheduled(
// CHECK-NOT:   xtc.kernel
// CHECK:       return
func.func @scheduled(%a: tensor<32x64xf16>, %b: tensor<64x48xf16>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %m = linalg.matmul {loop.schedule} ins(%a, %b : tensor<32x64xf16>, tensor<64x48xf16>)
       outs(%z : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %m : tensor<32x48xf32>
}
