// RUN: xtc-opt %s --split-vectors{bits=256} | FileCheck %s

// 12 lanes of 32 bits do not fit 256 bits: a piece of 8 lanes and one of 4.

// CHECK-LABEL: func.func @double
// CHECK-DAG: %[[X:.*]] = vector.load {{.*}} : memref<8x64xf32>, vector<8xf32>
// CHECK-DAG: %[[Y:.*]] = vector.load {{.*}} : memref<8x64xf32>, vector<4xf32>
// CHECK-DAG: arith.addf %[[X]], %[[X]] : vector<8xf32>
// CHECK-DAG: arith.addf %[[Y]], %[[Y]] : vector<4xf32>
// CHECK-NOT: vector<12xf32>
func.func @double(%a: memref<8x64xf32>, %i: index, %j: index) {
  %p = arith.constant 0.0 : f32
  %v = vector.transfer_read %a[%i, %j], %p {in_bounds = [true]} : memref<8x64xf32>, vector<12xf32>
  %w = arith.addf %v, %v : vector<12xf32>
  vector.transfer_write %w, %a[%i, %j] {in_bounds = [true]} : vector<12xf32>, memref<8x64xf32>
  return
}
