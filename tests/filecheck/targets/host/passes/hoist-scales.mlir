// RUN: xtc-opt %s --hoist-scales | FileCheck %s

// Integers with a common scale of their group are summed first.

// CHECK-LABEL: func.func @group
// CHECK: %[[SCALE:.*]] = vector.load %arg2[%c0] : memref<16xf32>, vector<16xf32>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[PART:.*]] = %[[ZERO]])
// CHECK: %[[CODE:.*]] = arith.sitofp
// CHECK: %[[TERM:.*]] = arith.mulf %{{.*}}, %[[CODE]]
// CHECK: arith.addf %[[PART]], %[[TERM]]
// CHECK: }
// CHECK: %[[SCALED:.*]] = arith.mulf %[[SUM]], %[[SCALE]]
// CHECK: %[[TOTAL:.*]] = arith.addf %arg3, %[[SCALED]]
// CHECK: return %[[TOTAL]]
func.func @group(%x: memref<32xf32>, %codes: memref<32x16xi8>, %scales: memref<16xf32>, %first: vector<16xf32>) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %last = scf.for %k = %c0 to %c32 step %c1 iter_args(%sum = %first) -> (vector<16xf32>) {
    %a = memref.load %x[%k] : memref<32xf32>
    %factor = vector.broadcast %a : f32 to vector<16xf32>
    %code = vector.load %codes[%k, %c0] : memref<32x16xi8>, vector<16xi8>
    %number = arith.sitofp %code : vector<16xi8> to vector<16xf32>
    %scale = vector.load %scales[%c0] : memref<16xf32>, vector<16xf32>
    %weight = arith.mulf %number, %scale : vector<16xf32>
    %term = arith.mulf %factor, %weight : vector<16xf32>
    %next = arith.addf %sum, %term : vector<16xf32>
    scf.yield %next : vector<16xf32>
  }
  return %last : vector<16xf32>
}

// Two scales, in the order of the multiplications; the zero point stays with the integers.

// CHECK-LABEL: func.func @half
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: %[[CODE:.*]] = arith.subf %{{.*}}, %arg4
// CHECK: arith.mulf %[[CODE]], %{{.*}}
// CHECK: }
// CHECK: %[[HALF:.*]] = arith.mulf %[[SUM]], %arg3
// CHECK: %[[SCALED:.*]] = arith.mulf %[[HALF]], %arg2
// CHECK: arith.addf %{{.*}}, %[[SCALED]]
func.func @half(%x: memref<32xf32>, %codes: memref<32xi8>, %scale: f32, %part: f32, %zero: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %first = arith.constant 1.0 : f32
  %last = scf.for %k = %c0 to %c32 step %c1 iter_args(%sum = %first) -> (f32) {
    %factor = memref.load %x[%k] : memref<32xf32>
    %code = memref.load %codes[%k] : memref<32xi8>
    %number = arith.uitofp %code : i8 to f32
    %difference = arith.subf %number, %zero : f32
    %half = arith.mulf %difference, %part : f32
    %weight = arith.mulf %half, %scale : f32
    %term = arith.mulf %weight, %factor : f32
    %next = arith.addf %term, %sum : f32
    scf.yield %next : f32
  }
  return %last : f32
}

// A scale that changes in the loop, floats that may be large, and sums of few bits are unchanged.

// CHECK-LABEL: func.func @changes
// CHECK: scf.for
// CHECK: arith.mulf %{{.*}}, %[[S:.*]] : f32
// CHECK: %[[T:.*]] = arith.mulf
// CHECK: %[[N:.*]] = arith.addf %{{.*}}, %[[T]]
// CHECK: scf.yield %[[N]]
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @changes(%x: memref<32xf32>, %codes: memref<32xi8>, %scales: memref<32xf32>, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %last = scf.for %k = %c0 to %c32 step %c1 iter_args(%sum = %first) -> (f32) {
    %factor = memref.load %x[%k] : memref<32xf32>
    %code = memref.load %codes[%k] : memref<32xi8>
    %number = arith.uitofp %code : i8 to f32
    %scale = memref.load %scales[%k] : memref<32xf32>
    %weight = arith.mulf %number, %scale : f32
    %term = arith.mulf %factor, %weight : f32
    %next = arith.addf %sum, %term : f32
    scf.yield %next : f32
  }
  return %last : f32
}

// CHECK-LABEL: func.func @floats
// CHECK: scf.for
// CHECK: arith.addf
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @floats(%x: memref<32xf32>, %weights: memref<32xf32>, %scale: f32, %first: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %last = scf.for %k = %c0 to %c32 step %c1 iter_args(%sum = %first) -> (f32) {
    %factor = memref.load %x[%k] : memref<32xf32>
    %number = memref.load %weights[%k] : memref<32xf32>
    %weight = arith.mulf %number, %scale : f32
    %term = arith.mulf %factor, %weight : f32
    %next = arith.addf %sum, %term : f32
    scf.yield %next : f32
  }
  return %last : f32
}

// CHECK-LABEL: func.func @short
// CHECK: scf.for
// CHECK: arith.addf
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @short(%x: memref<32xf16>, %codes: memref<32xi8>, %scale: f16, %first: f16) -> f16 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %last = scf.for %k = %c0 to %c32 step %c1 iter_args(%sum = %first) -> (f16) {
    %factor = memref.load %x[%k] : memref<32xf16>
    %code = memref.load %codes[%k] : memref<32xi8>
    %number = arith.sitofp %code : i8 to f16
    %weight = arith.mulf %number, %scale : f16
    %term = arith.mulf %factor, %weight : f16
    %next = arith.addf %sum, %term : f16
    scf.yield %next : f16
  }
  return %last : f16
}

// Three rows that multiply the same number: it is scaled once for all of them.

// CHECK-LABEL: func.func @rows
// CHECK: arith.mulf %{{.*}}, %arg2
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @rows(%x: memref<32x3xf32>, %codes: memref<32xi8>, %scale: f32, %first: f32) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %last:3 = scf.for %k = %c0 to %c32 step %c1 iter_args(%p = %first, %q = %first, %r = %first) -> (f32, f32, f32) {
    %code = memref.load %codes[%k] : memref<32xi8>
    %number = arith.sitofp %code : i8 to f32
    %weight = arith.mulf %number, %scale : f32
    %x0 = memref.load %x[%k, %c0] : memref<32x3xf32>
    %x1 = memref.load %x[%k, %c1] : memref<32x3xf32>
    %x2 = memref.load %x[%k, %c2] : memref<32x3xf32>
    %t0 = arith.mulf %x0, %weight : f32
    %t1 = arith.mulf %x1, %weight : f32
    %t2 = arith.mulf %x2, %weight : f32
    %n0 = arith.addf %p, %t0 : f32
    %n1 = arith.addf %q, %t1 : f32
    %n2 = arith.addf %r, %t2 : f32
    scf.yield %n0, %n1, %n2 : f32, f32, f32
  }
  return %last#0, %last#1, %last#2 : f32, f32, f32
}
