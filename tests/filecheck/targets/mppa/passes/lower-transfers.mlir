// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --distribute-clusters{clusters=1} --start-transfers --lower-transfers --canonicalize --cse | FileCheck %s
// RUN: xtc-opt %s --distribute-clusters{clusters=1} --start-transfers --lower-transfers{in-flight=5} --canonicalize --cse | FileCheck %s --check-prefix=FEW

// Rows of 5 elements, 3 of them; then all of a dense buffer as one row.

// CHECK-LABEL: func.func @rows
// CHECK-DAG: %[[PUT:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[GET:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[NEAR:.*]] = memref.extract_aligned_pointer_as_index %alloc
// CHECK-DAG: %[[FAR:.*]] = memref.extract_aligned_pointer_as_index %arg0
// CHECK: %[[START:.*]] = arith.addi %[[FAR]], %c72
// CHECK: %[[T:.*]] = func.call @dev_dma_2d(%[[GET]], %[[NEAR]], %c20, %[[START]], %c32, %c20, %c3)
// CHECK: memref.store %[[T]], %[[TAGS:.*]][%c0]
// CHECK: %[[T:.*]] = memref.load %[[TAGS]][%c0]
// CHECK: func.call @dev_dma_wait(%[[T]])
// CHECK: func.call @dev_dma_2d(%[[PUT]], %[[NEAR]], %c60, %{{.*}}, %c60, %c60, %c1)
func.func @rows(%A: memref<8x8xf32, 1>, %B: memref<3x5xf32, 1>) {
  %a = memref.alloc() : memref<3x5xf32, 2>
  %v = memref.subview %A[2, 2] [3, 5] [1, 1] : memref<8x8xf32, 1> to memref<3x5xf32, strided<[8, 1], offset: 18>, 1>
  memref.copy %v, %a : memref<3x5xf32, strided<[8, 1], offset: 18>, 1> to memref<3x5xf32, 2>
  memref.copy %a, %B : memref<3x5xf32, 2> to memref<3x5xf32, 1>
  return
}

// Strided elements are rows of one element; three dimensions with gaps are a loop of transfers.

// CHECK-LABEL: func.func @gaps
// CHECK: func.call @dev_dma_2d(%{{.*}}, %{{.*}}, %c2, %{{.*}}, %c6, %c2, %c4)
// CHECK: scf.for %[[I:.*]] = %c0 to %c2 step %c1 {
// CHECK: %[[T:.*]] = func.call @dev_dma_2d(%{{.*}}, %{{.*}}, %c3, %{{.*}}, %c5, %c3, %c4)
// CHECK: memref.store %[[T]], %[[TAGS:.*]][%[[I]]] : memref<2xi32>
// CHECK: scf.for %[[I:.*]] = %c0 to %c2 step %c1 {
// CHECK: %[[T:.*]] = memref.load %[[TAGS]][%[[I]]]
// CHECK: func.call @dev_dma_wait(%[[T]])

// Beyond the limit of the DMA, each transfer is awaited when the next one has started.

// FEW-LABEL: func.func @gaps
// FEW: scf.for %[[I:.*]] = %c0 to %c2 step %c1 {
// FEW: %[[BEFORE:.*]] = memref.load
// FEW: func.call @dev_dma_2d(%{{.*}}, %{{.*}}, %c3, %{{.*}}, %c5, %c3, %c4)
// FEW: memref.store %{{.*}} : memref<1xi32>
// FEW: %[[IS_ONE:.*]] = arith.cmpi ne, %[[BEFORE]], %c0_i32
// FEW: scf.if %[[IS_ONE]] {
// FEW-NEXT: func.call @dev_dma_wait(%[[BEFORE]])
// FEW: func.call @dev_dma_wait
func.func @gaps(%A: memref<12xi16, 1>, %B: memref<6x5x5xi8, 1>) {
  %a = memref.alloc() : memref<4xi16, 2>
  %v = memref.subview %A[0] [4] [3] : memref<12xi16, 1> to memref<4xi16, strided<[3]>, 1>
  memref.copy %v, %a : memref<4xi16, strided<[3]>, 1> to memref<4xi16, 2>
  %b = memref.alloc() : memref<2x4x3xi8, 2>
  %w = memref.subview %B[0, 0, 0] [2, 4, 3] [2, 1, 1] : memref<6x5x5xi8, 1> to memref<2x4x3xi8, strided<[50, 5, 1]>, 1>
  memref.copy %w, %b : memref<2x4x3xi8, strided<[50, 5, 1]>, 1> to memref<2x4x3xi8, 2>
  return
}

// A size that is known only at run time may be zero: then no transfer is started or awaited.

// CHECK-LABEL: func.func @unsure
// CHECK: memref.store %c0_i32
// CHECK: %[[IS_ANY:.*]] = arith.cmpi sgt, %[[N:.*]], %c0
// CHECK: scf.if %[[IS_ANY]] {
// CHECK: %[[NBYTES:.*]] = arith.muli %[[N]], %c4
// CHECK: func.call @dev_dma_2d(%{{.*}}, %{{.*}}, %[[NBYTES]], %{{.*}}, %[[NBYTES]], %[[NBYTES]], %c1)
// CHECK: %[[T:.*]] = memref.load
// CHECK: arith.cmpi ne, %[[T]], %c0_i32
// CHECK: scf.if
// CHECK-NEXT: func.call @dev_dma_wait(%[[T]])
func.func @unsure(%A: memref<100xf32, 1>) {
  scf.forall (%i) = (0) to (100) step (30) {
    %n = affine.min affine_map<(d0) -> (30, -d0 + 100)>(%i)
    %a = memref.alloc() : memref<30xf32, 2>
    %to = memref.subview %a[0] [%n] [1] : memref<30xf32, 2> to memref<?xf32, strided<[1]>, 2>
    %v = memref.subview %A[%i] [%n] [1] : memref<100xf32, 1> to memref<?xf32, strided<[1], offset: ?>, 1>
    memref.copy %v, %to : memref<?xf32, strided<[1], offset: ?>, 1> to memref<?xf32, strided<[1]>, 2>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}
