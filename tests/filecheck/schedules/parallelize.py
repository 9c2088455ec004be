# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""parallelize: the outermost loops run on threads, several of them as one loop."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((8, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
schedule["C"].strip_mine("i", {"i1": 2}).parallelize(["i", "j"])
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("scheduled"))

# CHECK:      C (i: 8, j: 32, k: 6 reduced)
# CHECK-NEXT:   for i in 0..8 step 2  // parallelize
# CHECK-NEXT:     for j in 0..32  // parallelize
# CHECK-NEXT:       for k in 0..6
# CHECK-NEXT:         for i1 in 0..2
# CHECK-NEXT:           C

# CHECK: scf.forall {{.*}} in (128)
# CHECK:   scf.for {{.*}} to %c6 step %c1
# CHECK:     scf.for {{.*}} to %c2 step %c1
# CHECK:   scf.forall.in_parallel
# CHECK: {"./i", "./j"}
