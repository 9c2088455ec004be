// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --check-allocations | FileCheck %s

// If the second allocation fails, the first one is freed; earlier frees do not count.

// CHECK-LABEL: func.func @two(
// CHECK-SAME: -> i32
// CHECK: %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[A]]
// CHECK: %[[NULL:.*]] = arith.cmpi eq, %[[ADDRESS]], %{{.*}} : index
// CHECK: cf.cond_br %[[NULL]], ^[[FIRST:.*]], ^{{.*}}
// CHECK: %[[B:.*]] = memref.alloc() : memref<9xf32>
// CHECK: cf.cond_br %{{.*}}, ^[[SECOND:.*]], ^{{.*}}
// CHECK: ^[[FIRST]]:
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT: return %[[ONE]]
// CHECK: memref.dealloc %[[B]]
// CHECK: %[[C:.*]] = memref.alloc() : memref<10xf32>
// CHECK: cf.cond_br %{{.*}}, ^[[THIRD:.*]], ^{{.*}}
// CHECK: ^[[SECOND]]:
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: arith.constant 1
// CHECK: memref.dealloc %[[C]]
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: return %[[ZERO]]
// CHECK: ^[[THIRD]]:
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: arith.constant 1
func.func @two() {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<9xf32>
  memref.dealloc %b : memref<9xf32>
  %c = memref.alloc() : memref<10xf32>
  memref.dealloc %c : memref<10xf32>
  memref.dealloc %a : memref<8xf32>
  return
}

// A caller returns the status of its callee. Functions without allocations, or with a result, stay.

// CHECK-LABEL: func.func @caller(
// CHECK-SAME: -> i32
// CHECK: %[[STATUS:.*]] = call @two() {xtc.parallel} : () -> i32
// CHECK: %[[FAILED:.*]] = arith.cmpi ne, %[[STATUS]], %{{.*}} : i32
// CHECK: cf.cond_br %[[FAILED]]
func.func @caller() {
  call @two() {xtc.parallel} : () -> ()
  return
}

// CHECK-LABEL: func.func @plain() {
// CHECK-LABEL: func.func @gives() -> memref<8xf32> {
// CHECK-NOT: cf.cond_br
func.func @plain() {
  return
}
func.func @gives() -> memref<8xf32> {
  %a = memref.alloc() : memref<8xf32>
  return %a : memref<8xf32>
}

// The function to call before an early return is called first.

// CHECK-LABEL: func.func @commands() -> i32
// CHECK:           %[[A:.*]] = memref.alloc()
// CHECK:           memref.alloc()
// CHECK:           call @abandon() : () -> ()
// CHECK:           call @abandon() : () -> ()
// CHECK-NEXT:      memref.dealloc %[[A]]
// CHECK-NEXT:      arith.constant 1
func.func private @abandon()
func.func @commands() attributes {xtc.before_failure = @abandon} {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  return
}

// A part of the program defines a kernel that allocates.
// CHECK: func.func private @kernel(memref<8xf32>) -> i32
// CHECK-LABEL: func.func @program({{.*}}) -> i32
// CHECK: %[[STATUS:.*]] = call @kernel(%{{.*}}) : (memref<8xf32>) -> i32
// CHECK: cf.cond_br
func.func private @kernel(memref<8xf32>) attributes {xtc.may_fail}
func.func @program(%x: memref<8xf32>) {
  call @kernel(%x) : (memref<8xf32>) -> ()
  return
}
