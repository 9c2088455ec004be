# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""interchange: the loops in another order."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((8, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
schedule["C"].interchange(["k", "j", "i"])
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("scheduled"))

# CHECK:      C (i: 8, j: 32, k: 6 reduced)
# CHECK-NEXT:   for k in 0..6
# CHECK-NEXT:     for j in 0..32
# CHECK-NEXT:       for i in 0..8
# CHECK-NEXT:         C

# CHECK: scf.for {{.*}} to %c6 step %c1
# CHECK:   scf.for {{.*}} to %c32 step %c1
# CHECK:     scf.for {{.*}} to %c8 step %c1
# CHECK:     {"./i"}
# CHECK:   {"./j"}
# CHECK: {"./k"}
