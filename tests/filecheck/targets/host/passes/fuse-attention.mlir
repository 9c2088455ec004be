// RUN: xtc-opt %s --fuse-attention | FileCheck %s
// RUN: xtc-opt %s --fuse-attention{l2-bytes=65536} | FileCheck %s --check-prefix=SMALL

#q = affine_map<(b, i, j, k) -> (b, i, k)>
#kt = affine_map<(b, i, j, k) -> (b, k, j)>
#o = affine_map<(b, i, j, k) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i, j)>
#rows = affine_map<(b, i, j) -> (b, i)>

// A head is two tiles of 64 queries. A smaller cache holds fewer; below sixteen nothing is fused.

// CHECK-LABEL: func.func @attention
// CHECK: scf.forall (%{{.*}}) in (8)
// CHECK: linalg.fill {{.*}} outs(%{{.*}} : tensor<1x64x256xf32>)
// CHECK: linalg.batch_matmul {{.*}} -> tensor<1x64x256xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x64xf32>)
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x64xf32>)
// CHECK: arith.divf
// CHECK: linalg.batch_matmul {{.*}} -> tensor<1x64x32xf32>
// CHECK: tensor.parallel_insert_slice
// SMALL-LABEL: func.func @attention
// SMALL: scf.forall (%{{.*}}) in (32)
// SMALL: -> tensor<1x16x256xf32>
func.func @attention(%q: tensor<4x128x32xf32>, %k: tensor<4x32x256xf32>, %v: tensor<4x256x32xf32>)
    -> tensor<4x128x32xf32> {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %s0 = tensor.empty() : tensor<4x128x256xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<4x128x256xf32>) -> tensor<4x128x256xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<4x128x32xf32>, tensor<4x32x256xf32>)
      outs(%s1 : tensor<4x128x256xf32>) -> tensor<4x128x256xf32>
  %r = tensor.empty() : tensor<4x128xf32>
  %m0 = linalg.fill ins(%least : f32) outs(%r : tensor<4x128xf32>) -> tensor<4x128xf32>
  %m = linalg.generic {indexing_maps = [#row, #rows],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : tensor<4x128x256xf32>) outs(%m0 : tensor<4x128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4x128xf32>
  %e = linalg.generic {indexing_maps = [#row, #rows, #row],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<4x128x256xf32>, tensor<4x128xf32>) outs(%s0 : tensor<4x128x256xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %d = arith.subf %a, %b : f32
    %p = math.exp %d : f32
    linalg.yield %p : f32
  } -> tensor<4x128x256xf32>
  %t0 = linalg.fill ins(%zero : f32) outs(%r : tensor<4x128xf32>) -> tensor<4x128xf32>
  %t = linalg.generic {indexing_maps = [#row, #rows],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<4x128x256xf32>) outs(%t0 : tensor<4x128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4x128xf32>
  %w = linalg.generic {indexing_maps = [#row, #rows, #row],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %t : tensor<4x128x256xf32>, tensor<4x128xf32>) outs(%s0 : tensor<4x128x256xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %d = arith.divf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<4x128x256xf32>
  %o0 = tensor.empty() : tensor<4x128x32xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<4x128x32xf32>) -> tensor<4x128x32xf32>
  %o = linalg.batch_matmul ins(%w, %v : tensor<4x128x256xf32>, tensor<4x256x32xf32>)
      outs(%o1 : tensor<4x128x32xf32>) -> tensor<4x128x32xf32>
  return %o : tensor<4x128x32xf32>
}

// Two contractions without a softmax between them are two operations.

// CHECK-LABEL: func.func @chain
// CHECK-NOT: scf.
// CHECK: return
func.func @chain(%q: tensor<4x128x32xf32>, %k: tensor<4x32x256xf32>, %v: tensor<4x256x32xf32>,
                 %s1: tensor<4x128x256xf32>, %o1: tensor<4x128x32xf32>) -> tensor<4x128x32xf32> {
  %s = linalg.batch_matmul ins(%q, %k : tensor<4x128x32xf32>, tensor<4x32x256xf32>)
      outs(%s1 : tensor<4x128x256xf32>) -> tensor<4x128x256xf32>
  %o = linalg.batch_matmul ins(%s, %v : tensor<4x128x256xf32>, tensor<4x256x32xf32>)
      outs(%o1 : tensor<4x128x32xf32>) -> tensor<4x128x32xf32>
  return %o : tensor<4x128x32xf32>
}
