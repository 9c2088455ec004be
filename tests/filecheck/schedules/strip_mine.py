# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""strip_mine: loops over tiles, innermost; a remainder is a second part."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((10, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
schedule["C"].strip_mine("i", {"i1": 4})
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("scheduled"))

# CHECK:      C (i: 10, j: 32, k: 6 reduced)
# CHECK-NEXT:   for i in 0..10 step 4
# CHECK-NEXT:     for j in 0..32
# CHECK-NEXT:       for k in 0..6
# CHECK-NEXT:         for i1 in 0..4
# CHECK-NEXT:           C

# CHECK: %[[EVEN:.*]] = scf.for {{.*}} to %c8 step %c4
# CHECK:   scf.for {{.*}} to %c32 step %c1
# CHECK:     scf.for {{.*}} to %c6 step %c1
# CHECK:       scf.for {{.*}} to %c4 step %c1
# CHECK: {"./i"}
# The remaining two rows:
# CHECK: tensor.extract_slice {{.*}}[8, 0] [2, 6]
# CHECK: scf.for {{.*}} to %c32 step %c1
# CHECK:   scf.for {{.*}} to %c6 step %c1
# CHECK:     scf.for {{.*}} to %c2 step %c1
