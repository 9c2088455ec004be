// RUN: xtc-opt %s --hoist-accumulators | FileCheck %s

// The accumulator is loaded before the loop and stored after it; in the loop it is a value.

// CHECK-LABEL: func.func @sum
// CHECK: %[[FIRST:.*]] = memref.load %[[C:.*]][%[[I:.*]]]
// CHECK: %[[LAST:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[FIRST]]) -> (f32)
// CHECK:   %[[T:.*]] = arith.addf %[[S]],
// CHECK:   scf.yield %[[T]] : f32
// CHECK: memref.store %[[LAST]], %[[C]][%[[I]]]
func.func @sum(%a: memref<8xf32> {llvm.noalias}, %c: memref<4xf32> {llvm.noalias}, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 {
    %s = memref.load %c[%i] : memref<4xf32>
    %x = memref.load %a[%k] : memref<8xf32>
    %t = arith.addf %s, %x : f32
    memref.store %t, %c[%i] : memref<4xf32>
  }
  return
}

// A vector that is loaded and stored whole is an accumulator as well.

// CHECK-LABEL: func.func @vectors
// CHECK: %[[FIRST:.*]] = vector.transfer_read %[[C:[a-z0-9]+]][%[[I:[a-z0-9]+]], %{{.*}}]
// CHECK: %[[LAST:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[FIRST]]) -> (vector<8xf32>)
// CHECK:   %[[T:.*]] = arith.addf %[[S]],
// CHECK:   scf.yield %[[T]] : vector<8xf32>
// CHECK: vector.transfer_write %[[LAST]], %[[C]][%[[I]],
func.func @vectors(%a: memref<8x8xf32> {llvm.noalias}, %c: memref<4x8xf32> {llvm.noalias}, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.0 : f32
  scf.for %k = %c0 to %c8 step %c1 {
    %x = vector.transfer_read %a[%k, %c0], %pad {in_bounds = [true]} : memref<8x8xf32>, vector<8xf32>
    %s = vector.transfer_read %c[%i, %c0], %pad {in_bounds = [true]} : memref<4x8xf32>, vector<8xf32>
    %t = arith.addf %s, %x : vector<8xf32>
    vector.transfer_write %t, %c[%i, %c0] {in_bounds = [true]} : vector<8xf32>, memref<4x8xf32>
  }
  return
}

// A vector that may be read beyond its buffer is not: padding is not part of the sum.

// CHECK-LABEL: func.func @beyond
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK:   vector.transfer_write
func.func @beyond(%a: memref<8x8xf32> {llvm.noalias}, %c: memref<4x8xf32> {llvm.noalias}, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %pad = arith.constant 0.0 : f32
  scf.for %k = %c0 to %c8 step %c1 {
    %x = vector.transfer_read %a[%k, %c0], %pad {in_bounds = [true]} : memref<8x8xf32>, vector<8xf32>
    %s = vector.transfer_read %c[%i, %c1], %pad : memref<4x8xf32>, vector<8xf32>
    %t = arith.addf %s, %x : vector<8xf32>
    vector.transfer_write %t, %c[%i, %c1] : vector<8xf32>, memref<4x8xf32>
  }
  return
}

// A barrier does not prevent it: accesses between two barriers belong to one thread.
// CHECK-LABEL: func.func @barriers
// CHECK: memref.load %arg1
// CHECK: scf.for
// CHECK-NEXT:   nvvm.barrier
// CHECK-NOT:    memref.load %arg1
// CHECK:        scf.yield
func.func @barriers(%a: memref<8xf32> {llvm.noalias}, %c: memref<4xf32> {llvm.noalias}, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 {
    nvvm.barrier
    %s = memref.load %c[%i] : memref<4xf32>
    %x = memref.load %a[%k] : memref<8xf32>
    %t = arith.addf %s, %x : f32
    memref.store %t, %c[%i] : memref<4xf32>
  }
  return
}

// Locations that are disjoint for this thread may be those of another thread, which a barrier allows
// to read them.
// CHECK-LABEL: func.func @neighbors
// CHECK: scf.for
// CHECK:   memref.load %arg0
// CHECK:   memref.store
// CHECK:   nvvm.barrier
func.func @neighbors(%c: memref<4xf32> {llvm.noalias}, %r: memref<4xf32> {llvm.noalias}, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %next = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
  scf.for %k = %c0 to %c8 step %c1 {
    %s = memref.load %c[%i] : memref<4xf32>
    %t = arith.addf %s, %s : f32
    memref.store %t, %c[%i] : memref<4xf32>
    nvvm.barrier
    %y = memref.load %c[%next] : memref<4xf32>
    memref.store %y, %r[%k] : memref<4xf32>
    nvvm.barrier
  }
  return
}

// The operand may be a constant.

// CHECK-LABEL: func.func @constant
// CHECK: scf.for {{.*}} iter_args
memref.global "private" constant @weights : memref<8xf32> = dense<1.0>
func.func @constant(%c: memref<4xf32> {llvm.noalias}, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = memref.get_global @weights : memref<8xf32>
  scf.for %k = %c0 to %c8 step %c1 {
    %s = memref.load %c[%i] : memref<4xf32>
    %x = memref.load %a[%k] : memref<8xf32>
    %t = arith.addf %s, %x : f32
    memref.store %t, %c[%i] : memref<4xf32>
  }
  return
}

// A sum that may be reassociated starts from zero, and is added to what was there: once for each
// loop around it.

// CHECK-LABEL: func.func @partial
// CHECK: %[[OUTER:.*]] = scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %{{cst.*}}) -> (f32)
// CHECK:   %[[INNER:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{cst.*}}) -> (f32)
// CHECK:     arith.addf %[[SUM]], %{{.*}} : f32
// CHECK:   %[[BOTH:.*]] = arith.addf %[[BEFORE]], %[[INNER]] : f32
// CHECK:   scf.yield %[[BOTH]]
// CHECK: %[[ALL:.*]] = arith.addf %{{.*}}, %[[OUTER]] fastmath<reassoc> : f32
// CHECK: memref.store %[[ALL]], %arg0
func.func @partial(%c: memref<4xf32> {llvm.noalias}, %a: memref<128x8xf32> {llvm.noalias}, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  scf.for %j = %c0 to %c128 step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      %s = memref.load %c[%i] : memref<4xf32>
      %x = memref.load %a[%j, %k] : memref<128x8xf32>
      %t = arith.addf %s, %x fastmath<reassoc> : f32
      memref.store %t, %c[%i] : memref<4xf32>
    }
  }
  return
}

// A loop over few sums of an inner loop, as over the window of a convolution, adds them in order.

// CHECK-LABEL: func.func @few_parts
// CHECK: %[[FIRST:.*]] = memref.load %arg0
// CHECK: scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %[[FIRST]]) -> (f32)
// CHECK:   %[[INNER:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{cst.*}}) -> (f32)
// CHECK:   %[[BOTH:.*]] = arith.addf %[[BEFORE]], %[[INNER]]
// CHECK:   scf.yield %[[BOTH]]
func.func @few_parts(%c: memref<4xf32> {llvm.noalias}, %a: memref<3x8xf32> {llvm.noalias}, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  scf.for %j = %c0 to %c3 step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      %s = memref.load %c[%i] : memref<4xf32>
      %x = memref.load %a[%j, %k] : memref<3x8xf32>
      %t = arith.addf %s, %x fastmath<reassoc> : f32
      memref.store %t, %c[%i] : memref<4xf32>
    }
  }
  return
}
