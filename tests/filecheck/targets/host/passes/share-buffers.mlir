// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --share-buffers | FileCheck %s

// Both operands of a concatenation are computed in its result, whichever buffer is allocated first
// and although a reshape is between them.

// CHECK-LABEL: func.func @concat
// CHECK:       %[[BOTH:.*]] = memref.alloc() : memref<4x16xf32>
// CHECK:       %[[LEFT:.*]] = memref.subview %[[BOTH]][0, 0] [4, 8] [1, 1]
// CHECK:       %[[SHAPED:.*]] = memref.reinterpret_cast %[[LEFT]] to offset: [0], sizes: [2, 2, 8], strides: [32, 16, 1]
// CHECK:       linalg.exp ins(%arg0 : {{.*}}) outs(%[[SHAPED]] :
// CHECK:       %[[RIGHT:.*]] = memref.subview %[[BOTH]][0, 8] [4, 8] [1, 1]
// CHECK:       linalg.exp ins(%arg1 : {{.*}}) outs(%[[RIGHT]] :
// CHECK-NOT:   memref.copy
// CHECK:       linalg.abs ins(%[[BOTH]] :
func.func @concat(%x: memref<2x2x8xf32> {llvm.noalias}, %y: memref<4x8xf32> {llvm.noalias}, %z: memref<4x16xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<2x2x8xf32>
  linalg.exp ins(%x : memref<2x2x8xf32>) outs(%a : memref<2x2x8xf32>)
  %b = memref.alloc() : memref<4x8xf32>
  linalg.exp ins(%y : memref<4x8xf32>) outs(%b : memref<4x8xf32>)
  %both = memref.alloc() : memref<4x16xf32>
  %flat = memref.collapse_shape %a [[0, 1], [2]] : memref<2x2x8xf32> into memref<4x8xf32>
  %left = memref.subview %both[0, 0] [4, 8] [1, 1] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1]>>
  memref.copy %flat, %left : memref<4x8xf32> to memref<4x8xf32, strided<[16, 1]>>
  %right = memref.subview %both[0, 8] [4, 8] [1, 1] : memref<4x16xf32> to memref<4x8xf32, strided<[16, 1], offset: 8>>
  memref.copy %b, %right : memref<4x8xf32> to memref<4x8xf32, strided<[16, 1], offset: 8>>
  linalg.abs ins(%both : memref<4x16xf32>) outs(%z : memref<4x16xf32>)
  return
}

// The contents of one buffer are needed while the other one changes: two buffers.

// CHECK-LABEL: func.func @changed
// CHECK:       memref.copy
func.func @changed(%x: memref<8xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}, %w: memref<8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%a : memref<8xf32>)
  memref.copy %a, %b : memref<8xf32> to memref<8xf32>
  linalg.log ins(%x : memref<8xf32>) outs(%a : memref<8xf32>)
  linalg.abs ins(%a : memref<8xf32>) outs(%z : memref<8xf32>)
  linalg.abs ins(%b : memref<8xf32>) outs(%w : memref<8xf32>)
  return
}

// The old contents of the target are read after the source was written.

// CHECK-LABEL: func.func @held
// CHECK:       memref.copy
func.func @held(%x: memref<8xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}, %w: memref<8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%z : memref<8xf32>)
  linalg.log ins(%x : memref<8xf32>) outs(%a : memref<8xf32>)
  linalg.abs ins(%z : memref<8xf32>) outs(%w : memref<8xf32>)
  memref.copy %a, %z : memref<8xf32> to memref<8xf32>
  return
}

// An argument of the caller is not changed for a copy of it.

// CHECK-LABEL: func.func @argument
// CHECK:       memref.copy
func.func @argument(%x: memref<8xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%a : memref<8xf32>)
  linalg.abs ins(%a : memref<8xf32>) outs(%z : memref<8xf32>)
  return
}

// But a copy that is only read is not made.

// CHECK-LABEL: func.func @read
// CHECK-NOT:   memref.copy
// CHECK:       linalg.abs ins(%arg0 :
func.func @read(%x: memref<8xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  linalg.abs ins(%a : memref<8xf32>) outs(%z : memref<8xf32>)
  return
}

// A part is copied out, changed and copied back, by loops too: it is changed in place.

// CHECK-LABEL: func.func @part
// CHECK:       %[[PART:.*]] = memref.subview %arg0[4] [4] [1]
// CHECK-NOT:   memref.copy
// CHECK:       scf.for
// CHECK:         memref.subview %[[PART]][%{{.*}}] [1] [1] : memref<4xf32, strided<[1], offset: 4>> to memref<1xf32, strided<[1], offset: ?>>
// CHECK-NOT:   memref.copy
// CHECK:       return
func.func @part(%x: memref<8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<4xf32>
  %part = memref.subview %x[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  memref.copy %part, %a : memref<4xf32, strided<[1], offset: 4>> to memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %s = memref.subview %a[%i] [1] [1] : memref<4xf32> to memref<1xf32, strided<[1], offset: ?>>
    linalg.fill ins(%one : f32) outs(%s : memref<1xf32, strided<[1], offset: ?>>)
  }
  memref.copy %a, %part : memref<4xf32> to memref<4xf32, strided<[1], offset: 4>>
  return
}

// A single used part of a buffer becomes a buffer, and can then be a part of another.

// CHECK-LABEL: func.func @narrowed
// CHECK:       %[[PADDED:.*]] = memref.alloc() : memref<6x8xf32>
// CHECK:       %[[INSIDE:.*]] = memref.subview %[[PADDED]][1, 0] [4, 4] [1, 1]
// CHECK-NOT:   memref.alloc
// CHECK:       linalg.exp ins(%arg0 : {{.*}}) outs(%[[INSIDE]] :
// CHECK-NOT:   memref.copy
// CHECK:       return
func.func @narrowed(%x: memref<4x4xf32> {llvm.noalias}, %z: memref<6x8xf32> {llvm.noalias}) {
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<4x16xf32>
  %used = memref.subview %a[0, 8] [4, 4] [1, 1] : memref<4x16xf32> to memref<4x4xf32, strided<[16, 1], offset: 8>>
  %p = memref.alloc() : memref<6x8xf32>
  linalg.fill ins(%zero : f32) outs(%p : memref<6x8xf32>)
  linalg.exp ins(%x : memref<4x4xf32>) outs(%used : memref<4x4xf32, strided<[16, 1], offset: 8>>)
  %inside = memref.subview %p[1, 0] [4, 4] [1, 1] : memref<6x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 8>>
  memref.copy %used, %inside : memref<4x4xf32, strided<[16, 1], offset: 8>> to memref<4x4xf32, strided<[8, 1], offset: 8>>
  linalg.abs ins(%p : memref<6x8xf32>) outs(%z : memref<6x8xf32>)
  return
}

// Arguments that may overlap keep their contents.

// CHECK-LABEL: func.func @overlapping
// CHECK:       memref.copy
func.func @overlapping(%x: memref<8xf32>, %z: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  linalg.abs ins(%a : memref<8xf32>) outs(%z : memref<8xf32>)
  linalg.exp ins(%a : memref<8xf32>) outs(%z : memref<8xf32>)
  return
}

// The elements of a column are not contiguous, so loops could not be vectorized: a copy.

// CHECK-LABEL: func.func @columns
// CHECK:       memref.copy
func.func @columns(%x: memref<4xf32> {llvm.noalias}, %z: memref<4x8xf32> {llvm.noalias}) {
  %a = memref.alloc() : memref<4xf32>
  linalg.exp ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  %column = memref.subview %z[0, 3] [4, 1] [1, 1] : memref<4x8xf32> to memref<4xf32, strided<[8], offset: 3>>
  memref.copy %a, %column : memref<4xf32> to memref<4xf32, strided<[8], offset: 3>>
  return
}
