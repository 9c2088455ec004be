// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --count-executed-operations | FileCheck %s

// A multiply-add is two operations, in each lane of a vector and each iteration of the loops.

// CHECK-LABEL: func.func @net
// CHECK: call @kernel.fma({{.*}}) {xtc.node = "fma", xtc.operations = 2048 : i64}
// Tiles that end at the end of the array, and a triangle.
// CHECK: call @kernel.tiles({{.*}}) {xtc.node = "tiles", xtc.operations = 10 : i64}
// CHECK: call @kernel.triangle({{.*}}) {xtc.node = "triangle", xtc.operations = 10 : i64}
// The operations of a function for a range count at its call.
// CHECK: call @kernel.parallel({{.*}}) {xtc.node = "parallel", xtc.operations = 8 : i64}
// Copies compute nothing. The trip count of a loop that ends at an element is unknown.
// CHECK: call @kernel.copy({{.*}}) {xtc.node = "copy", xtc.operations = 0 : i64}
// CHECK: call @kernel.unknown({{.*}}) {xtc.node = "unknown"} :
// CHECK: call @other({{.*}}) :
#minimum = affine_map<(d0) -> (4, -d0 + 10)>
func.func @net(%x: memref<16xf32>) {
  call @kernel.fma(%x) {xtc.node = "fma"} : (memref<16xf32>) -> ()
  call @kernel.tiles(%x) {xtc.node = "tiles"} : (memref<16xf32>) -> ()
  call @kernel.triangle(%x) {xtc.node = "triangle"} : (memref<16xf32>) -> ()
  call @kernel.parallel(%x) {xtc.node = "parallel"} : (memref<16xf32>) -> ()
  call @kernel.copy(%x) {xtc.node = "copy"} : (memref<16xf32>) -> ()
  call @kernel.unknown(%x) {xtc.node = "unknown"} : (memref<16xf32>) -> ()
  call @other(%x) : (memref<16xf32>) -> ()
  return
}
func.func private @other(memref<16xf32>)
func.func private @kernel.fma(%x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %v = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
    %y = math.fma %v, %v, %v : vector<16xf32>
    vector.store %y, %x[%c0] : memref<16xf32>, vector<16xf32>
  }
  return
}
func.func private @kernel.tiles(%x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  scf.for %i = %c0 to %c10 step %c4 {
    %n = affine.min #minimum(%i)
    scf.for %j = %c0 to %n step %c1 {
      %v = memref.load %x[%j] : memref<16xf32>
      %y = arith.addf %v, %v : f32
      memref.store %y, %x[%j] : memref<16xf32>
    }
  }
  return
}
func.func private @kernel.triangle(%x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c5 step %c1 {
    scf.for %j = %c0 to %c5 step %c1 {
      %above = arith.cmpi ult, %i, %j : index
      scf.if %above {
        %v = memref.load %x[%j] : memref<16xf32>
        %y = arith.mulf %v, %v : f32
        memref.store %y, %x[%j] : memref<16xf32>
      }
    }
  }
  return
}
func.func private @kernel.parallel(%x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  call @kernel.parallel.0(%x, %c0, %c8) : (memref<16xf32>, index, index) -> ()
  return
}
func.func private @kernel.parallel.0(%x: memref<16xf32>, %first: index, %last: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %first to %last step %c1 {
    %v = memref.load %x[%i] : memref<16xf32>
    %y = math.sqrt %v : f32
    memref.store %y, %x[%i] : memref<16xf32>
  }
  return
}
func.func private @kernel.copy(%x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = memref.load %x[%c0] : memref<16xf32>
  memref.store %v, %x[%c1] : memref<16xf32>
  return
}
func.func private @kernel.unknown(%x: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = memref.load %x[%c0] : memref<16xf32>
  %n = arith.fptosi %v : f32 to i32
  %last = arith.index_cast %n : i32 to index
  scf.for %i = %c0 to %last step %c1 {
    %w = memref.load %x[%c0] : memref<16xf32>
    %y = arith.addf %w, %w : f32
    memref.store %y, %x[%c0] : memref<16xf32>
  }
  return
}
