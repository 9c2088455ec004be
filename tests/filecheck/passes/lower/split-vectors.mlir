// RUN: xtc-opt %s --split-vectors{bits=256} | FileCheck %s
// RUN: xtc-opt %s "--split-vectors{bits=256 masked-bits=32}" | FileCheck %s --check-prefix=MASKED

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

// 13 lanes are accumulated: a piece of 8 lanes, and 5 elements in another of which 3 lanes are masked.

// CHECK-LABEL:  func.func @accumulate
// CHECK-COUNT-3:  arith.addf
// MASKED-LABEL: func.func @accumulate
// MASKED-DAG:     vector.load {{.*}} : memref<13xf32>, vector<8xf32>
// MASKED-DAG:     %[[MASK:.*]] = vector.constant_mask [5] : vector<8xi1>
// MASKED-DAG:     vector.maskedload %{{.*}}[%{{.*}}], %[[MASK]], {{.*}} : memref<13xf32>
// MASKED-COUNT-2: arith.addf {{.*}} : vector<8xf32>
// MASKED-NOT:     arith.addf
// MASKED:         vector.maskedstore %{{.*}}[%{{.*}}], %{{.*}}, {{.*}} : memref<13xf32>
func.func @accumulate(%a: memref<13xf32>, %c: memref<13xf32>) {
  %z = arith.constant 0 : index
  %p = arith.constant 0.0 : f32
  %v = vector.transfer_read %a[%z], %p {in_bounds = [true]} : memref<13xf32>, vector<13xf32>
  %s = vector.transfer_read %c[%z], %p {in_bounds = [true]} : memref<13xf32>, vector<13xf32>
  %w = arith.addf %s, %v : vector<13xf32>
  vector.transfer_write %w, %c[%z] {in_bounds = [true]} : vector<13xf32>, memref<13xf32>
  return
}

// The initial value and the reader of such vectors have masked lanes too; other vectors do not.

// MASKED-LABEL:   func.func @around
// MASKED:         vector.maskedstore %{{.*}} : memref<5xf32>
// MASKED:         vector.maskedstore %{{.*}} : memref<5xf32>
// MASKED:         vector.maskedload %{{.*}} : memref<5xf32>
// MASKED:         vector.maskedstore %{{.*}} : memref<8x5xf32>
// MASKED-NOT:     masked
func.func @around(%a: memref<5xf32>, %c: memref<5xf32>, %d: memref<8x5xf32>) {
  %z = arith.constant 0 : index
  %p = arith.constant 0.0 : f32
  %first = arith.constant dense<0.0> : vector<5xf32>
  vector.transfer_write %first, %c[%z] {in_bounds = [true]} : vector<5xf32>, memref<5xf32>
  %v = vector.transfer_read %a[%z], %p {in_bounds = [true]} : memref<5xf32>, vector<5xf32>
  %s = vector.transfer_read %c[%z], %p {in_bounds = [true]} : memref<5xf32>, vector<5xf32>
  %w = arith.addf %s, %v : vector<5xf32>
  vector.transfer_write %w, %c[%z] {in_bounds = [true]} : vector<5xf32>, memref<5xf32>
  %t = vector.transfer_read %c[%z], %p {in_bounds = [true]} : memref<5xf32>, vector<5xf32>
  vector.transfer_write %t, %d[%z, %z] {in_bounds = [true]} : vector<5xf32>, memref<8x5xf32>
  %u = vector.transfer_read %a[%z], %p {in_bounds = [true]} : memref<5xf32>, vector<5xf32>
  vector.transfer_write %u, %d[%z, %z] {in_bounds = [true]} : vector<5xf32>, memref<8x5xf32>
  return
}

// A masked lane would divide by zero, so there are three pieces, as without masks.

// MASKED-LABEL:   func.func @divide
// MASKED-NOT:     mask
// MASKED-COUNT-3: arith.divsi
func.func @divide(%a: memref<7xi32>, %c: memref<7xi32>) {
  %z = arith.constant 0 : index
  %p = arith.constant 0 : i32
  %v = vector.transfer_read %a[%z], %p {in_bounds = [true]} : memref<7xi32>, vector<7xi32>
  %s = vector.transfer_read %c[%z], %p {in_bounds = [true]} : memref<7xi32>, vector<7xi32>
  %w = arith.divsi %s, %v : vector<7xi32>
  vector.transfer_write %w, %c[%z] {in_bounds = [true]} : vector<7xi32>, memref<7xi32>
  return
}
