# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""buffer_at: the result's tile in a separate buffer, copied in before and out after."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((8, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
C = schedule["C"].strip_mine("i", {"i1": 4})
C.interchange(["i", "k", "j", "i1"]).buffer_at("i")
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("bufferized"))

# CHECK:      C (i: 8, j: 32, k: 6 reduced)
# CHECK-NEXT:   for i in 0..8 step 4  // buffer
# CHECK-NEXT:     for k in 0..6
# CHECK-NEXT:       for j in 0..32
# CHECK-NEXT:         for i1 in 0..4
# CHECK-NEXT:           C

# One buffer for all iterations:
# CHECK: %[[BUFFER:.*]] = memref.alloc() {{.*}} : memref<4x32xf32>
# CHECK: scf.for %[[I:.*]] = %c0 to %c8 step %c4
# CHECK:   %[[TILE:.*]] = memref.subview %arg2[%[[I]], 0] [4, 32]
# CHECK:   memref.copy %[[TILE]], %[[BUFFER]]
# CHECK:   scf.for {{.*}} to %c6 step %c1
# CHECK:     memref.subview %[[BUFFER]]
# CHECK:   {"./k"}
# CHECK:   memref.copy %[[BUFFER]], %[[TILE]]
# CHECK: memref.dealloc %[[BUFFER]]
