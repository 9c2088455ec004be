# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""pack_at: a tile of an operand, copied to dense memory before the loops that read it."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((8, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
C = schedule["C"].strip_mine("j", {"j1": 16})
C.interchange(["j", "i", "k", "j1"]).pack_at("j", 1)
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("bufferized"))

# CHECK:      C (i: 8, j: 32, k: 6 reduced)
# CHECK-NEXT:   for j in 0..32 step 16  // pack 1
# CHECK-NEXT:     for i in 0..8
# CHECK-NEXT:       for k in 0..6
# CHECK-NEXT:         for j1 in 0..16
# CHECK-NEXT:           C

# CHECK: %[[PACKED:.*]] = memref.alloc() {{.*}} : memref<6x16xf32>
# CHECK: scf.for %[[J:.*]] = %c0 to %c32 step %c16
# CHECK:   %[[TILE:.*]] = memref.subview %arg1[0, %[[J]]] [6, 16] [1, 1] : {{.*}} strided<[32, 1]
# CHECK:   memref.copy %[[TILE]], %[[PACKED]]
# CHECK:   scf.for {{.*}} to %c8 step %c1
# CHECK-NOT: %arg1
# CHECK:     memref.subview %[[PACKED]]
# CHECK: memref.dealloc %[[PACKED]]
