// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --keep-arenas | FileCheck %s

// An arena is taken and returned, on every exit; other allocations stay.

// CHECK: func.func private @net.arena.take() -> memref<64xi8> attributes {xtc.arena = array<i64: 64, 64>}
// CHECK: func.func private @net.arena.give(memref<64xi8>)
// CHECK-LABEL: func.func @net(
// CHECK: %[[ARENA:.*]] = call @net.arena.take() : () -> memref<64xi8>
// CHECK: %[[OTHER:.*]] = memref.alloc() : memref<4xf32>
// CHECK: call @net.arena.give(%[[ARENA]])
// CHECK: call @net.arena.give(%[[ARENA]])
// CHECK: memref.dealloc %[[OTHER]]
func.func @net(%failed: i1) {
  %arena = memref.alloc() {alignment = 64 : i64, xtc.arena = array<i64: 64, 64>} : memref<64xi8>
  %other = memref.alloc() : memref<4xf32>
  cf.cond_br %failed, ^out, ^on
^out:
  memref.dealloc %arena : memref<64xi8>
  return
^on:
  memref.dealloc %arena : memref<64xi8>
  memref.dealloc %other : memref<4xf32>
  return
}
