// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --keep-loops | FileCheck %s
// RUN: xtc-opt %s --keep-loops --convert-scf-to-cf --convert-cf-to-llvm | FileCheck %s --check-prefix=LLVM

// Only the loop that contains another one is kept, unless a user's schedule created it.

// CHECK: #[[KEEP:.*]] = #llvm.loop_annotation<unroll = #{{.*}}>
// CHECK-LABEL: func.func @loops
// CHECK:         memref.store
// CHECK-NEXT:  }
// CHECK-NEXT:  } {loop_annotation = #[[KEEP]]}
// CHECK:         memref.store
// CHECK-NEXT:  }
// CHECK-NEXT:  } {"./i"}
// LLVM: llvm.br ^{{.*}} {loop_annotation = #loop_annotation}
func.func @loops(%m: memref<8x8xf32>, %x: f32, %c0: index, %c1: index, %c8: index) {
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      memref.store %x, %m[%i, %j] : memref<8x8xf32>
    }
  }
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      memref.store %x, %m[%j, %i] : memref<8x8xf32>
    }
  } {"./i"}
  return
}

// A loop over neighbors becomes vectors, if it is long enough for that; not one along a column.

// CHECK-LABEL: func.func @neighbors
// CHECK:         memref.store %{{.*}}, %{{.*}}[%{{.*}}, %[[J:.*]]] : memref<24x24xf32>
// CHECK-NEXT:  } {loop_annotation = #[[KEEP]]}
// CHECK:         memref.store
// CHECK-NEXT:  }
// CHECK-NEXT:    scf.for
// CHECK:         memref.store
// CHECK-NEXT:  }
// CHECK-NEXT:  return
func.func @neighbors(%m: memref<24x24xf32>, %x: f32, %row: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  scf.for %j = %c0 to %c24 step %c1 { memref.store %x, %m[%row, %j] : memref<24x24xf32> }
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%row, %j] : memref<24x24xf32> }
  scf.for %i = %c0 to %c24 step %c1 { memref.store %x, %m[%i, %row] : memref<24x24xf32> }
  return
}

// Of several copies of a loop, none is unrolled again.

// CHECK-LABEL: func.func @copies
// CHECK-COUNT-17: } {"./j", loop_annotation = #[[KEEP]]}
func.func @copies(%m: memref<8xf32>, %x: f32, %c0: index, %c1: index, %c8: index) {
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  scf.for %j = %c0 to %c8 step %c1 { memref.store %x, %m[%j] : memref<8xf32> } {"./j"}
  return
}

// Loops that LLVM does not unroll may be interleaved.
// CHECK-LABEL: func.func @many_channels(
// CHECK:         scf.for
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    }{{$}}
func.func @many_channels(%a: memref<300xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c300 = arith.constant 300 : index
  scf.for %i = %c0 to %c300 step %c1 {
    memref.store %x, %a[%i] : memref<300xf32>
  }
  return
}
