// RUN: xtc-opt %s --take-shards | FileCheck %s

#identity = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func.func @sharded(%{{.*}}: memref<3x4xf32, 1>, %{{.*}}: memref<3x4xf32, 1>) {
// CHECK-NEXT:    %[[T:.*]] = memref.alloc() : memref<3x4xf32>
// CHECK-NEXT:    linalg.generic {{.*}} ins(%{{.*}} : memref<3x4xf32, 1>) outs(%[[T]] : memref<3x4xf32>)
// CHECK-LABEL: func.func @replicated(%{{.*}}: memref<7x4xf32, 1>)
func.func @sharded(%a: memref<7x4xf32, 1>, %r: memref<7x4xf32, 1>)
    attributes {xtc.shards = array<i64: 3, 3>} {
  %t = memref.alloc() : memref<7x4xf32>
  linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<7x4xf32, 1>) outs(%t : memref<7x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}
func.func @replicated(%a: memref<7x4xf32, 1>) {
  return
}
