// RUN: xtc-opt %s --insert-transfers | FileCheck %s
// RUN: xtc-opt %s --insert-transfers --elide-copies | FileCheck %s --check-prefix=ELIDED
// RUN: xtc-opt %s --insert-transfers --elide-copies --lower-device-commands | FileCheck %s --check-prefix=LOWERED

// %b has the sharding of the first function that uses it. The two functions shard %t differently:
// each has a buffer, and the contents go through the host.

// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[A:[^:]*]]: memref<7x4xf32>
// CHECK-SAME:    %[[B:[^:]*]]: memref<7x4xf32, 1> {memref.on_device, xtc.shards = 3 : i64}
// CHECK-SAME:    %[[R:[^:]*]]: memref<7x4xf32>
// CHECK-NEXT:    memref.alloc() : memref<7x4xf32>
// CHECK-NEXT:    %[[T:.*]] = memref.alloc() : memref<7x4xf32>
// CHECK-NEXT:    %[[AD:.*]] = memref.alloc() {xtc.device = "npu0", xtc.shards = 3 : i64} : memref<7x4xf32, 1>
// CHECK-NEXT:    memref.copy %[[A]], %[[AD]]
// CHECK-NEXT:    %[[TS:.*]] = memref.alloc() {xtc.device = "npu0", xtc.shards = 3 : i64} : memref<7x4xf32, 1>
// CHECK-NEXT:    call @f.npu0.0(%[[AD]], %[[B]], %[[TS]])
// CHECK-NEXT:    %[[TR:.*]] = memref.alloc() {xtc.device = "npu0"} : memref<7x4xf32, 1>
// CHECK-NEXT:    memref.copy %[[TS]], %[[T]] {xtc.device = "npu0"}
// CHECK-NEXT:    memref.copy %[[T]], %[[TR]] {xtc.device = "npu0"}
// CHECK-NEXT:    %[[RD:.*]] = memref.alloc() {xtc.device = "npu0"} : memref<7x4xf32, 1>
// CHECK-NEXT:    call @f.npu0.1(%[[TR]], %[[RD]])
// CHECK-NEXT:    memref.dealloc %[[T]]
// CHECK-NEXT:    memref.copy %[[RD]], %[[R]]

// Shards cannot be copied to a replicated buffer.
// ELIDED-LABEL: func.func @f(
// ELIDED-COUNT-2: {xtc.device = "npu0", xtc.shards = 3 : i64}
// ELIDED:         memref.copy %[[TS:.*]], %[[T:.*]] {xtc.device = "npu0"} : memref<7x4xf32, 1> to memref<7x4xf32>
// ELIDED-NEXT:    memref.copy %[[T]], %{{.*}} {xtc.device = "npu0"} : memref<7x4xf32> to memref<7x4xf32, 1>

// 112 bytes in shards of three rows of 16 bytes.
// LOWERED-LABEL: func.func @f(
// LOWERED:         %[[NBYTES:.*]] = arith.constant 112 : i64
// LOWERED-NEXT:    %[[SHARD:.*]] = arith.constant 48 : i64
// LOWERED-NEXT:    call @xtc_allocate_sharded(%{{.*}}, %[[NBYTES]], %[[SHARD]]) : (i64, i64, i64) -> i64
module {
  func.func private @f.npu0.0(%a: memref<7x4xf32>, %b: memref<7x4xf32>, %r: memref<7x4xf32>)
      attributes {xtc.device = "npu0", xtc.results = 1, xtc.shards = array<i64: 3, 3, 3>} {
    return
  }
  func.func private @f.npu0.1(%a: memref<7x4xf32>, %r: memref<7x4xf32>)
      attributes {xtc.device = "npu0", xtc.results = 1} {
    return
  }
  func.func @f(%a: memref<7x4xf32>, %b: memref<7x4xf32> {memref.on_device}, %r: memref<7x4xf32>) {
    %t = memref.alloc() : memref<7x4xf32>
    call @f.npu0.0(%a, %b, %t) {xtc.device = "npu0"} : (memref<7x4xf32>, memref<7x4xf32>, memref<7x4xf32>) -> ()
    call @f.npu0.1(%t, %r) {xtc.device = "npu0"} : (memref<7x4xf32>, memref<7x4xf32>) -> ()
    memref.dealloc %t : memref<7x4xf32>
    return
  }
}
