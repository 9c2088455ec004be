# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""fuse_producer_at: the producer of an operand moves into the loop, a tile at a time."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((8, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="layer") as gb:
    product = O.matmul(a, b, name="P")
    O.relu(product, name="C")

schedule = xtc.Schedule(gb.graph)
schedule["C"].strip_mine("i", {"i1": 4})
schedule["C"].fuse_producer_at("i", 0)
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("scheduled"))

# CHECK:      C (i: 8, j: 32)
# CHECK-NEXT:   for i in 0..8 step 4  // fuse 0
# CHECK-NEXT:     for j in 0..32
# CHECK-NEXT:       for i1 in 0..4
# CHECK-NEXT:         C

# Four rows of P, and its zeros, instead of all of them before the loop:
# CHECK-NOT: linalg
# CHECK: scf.for {{.*}} to %c8 step %c4
# CHECK:   linalg.fill {__xtc_id_P.init_} {{.*}} tensor<4x32xf32>
# CHECK:   linalg.matmul {__xtc_id_P_, {{.*}} tensor<4x32xf32>
# CHECK:   scf.for {{.*}} to %c32 step %c1
# CHECK:     scf.for {{.*}} to %c4 step %c1
# CHECK:       arith.maximumf
