// RUN: xtc-opt %s --shard-rows{memories=3} | FileCheck %s

#identity = affine_map<(i, j) -> (i, j)>
#transposed = affine_map<(i, j) -> (j, i)>

// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME:    attributes {xtc.shards = array<i64: 3, 3>}
func.func @elementwise(%a: memref<7x4xf32>, %r: memref<7x4xf32>) {
  linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<7x4xf32>) outs(%r : memref<7x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %x : f32
    linalg.yield %z : f32
  }
  return
}

// Rows of one operand are columns of the other.
// CHECK-LABEL: func.func @transpose(
// CHECK-NOT:     xtc.shards
func.func @transpose(%a: memref<4x4xf32>, %r: memref<4x4xf32>) {
  linalg.generic {indexing_maps = [#transposed, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4x4xf32>) outs(%r : memref<4x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// The value of an element depends on its position.
// CHECK-LABEL: func.func @index(
// CHECK-NOT:     xtc.shards
func.func @index(%r: memref<7x4xf32>) {
  linalg.generic {indexing_maps = [#identity], iterator_types = ["parallel", "parallel"]}
      outs(%r : memref<7x4xf32>) {
  ^bb0(%y: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %x = arith.sitofp %n : i32 to f32
    linalg.yield %x : f32
  }
  return
}

// CHECK-LABEL: func.func @matmul(
// CHECK-NOT:     xtc.shards
func.func @matmul(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %r: memref<4x4xf32>) {
  linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%r : memref<4x4xf32>)
  return
}
