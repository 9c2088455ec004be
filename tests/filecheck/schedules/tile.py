# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""tile: another name of strip_mine; several tiles of one axis nest."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((16, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
schedule["C"].tile("i", {"i1": 8, "i2": 2}).tile("j", {"j1": 16})
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("scheduled"))

# CHECK:      C (i: 16, j: 32, k: 6 reduced)
# CHECK-NEXT:   for i in 0..16 step 8
# CHECK-NEXT:     for j in 0..32 step 16
# CHECK-NEXT:       for k in 0..6
# CHECK-NEXT:         for i1 in 0..8 step 2
# CHECK-NEXT:           for i2 in 0..2
# CHECK-NEXT:             for j1 in 0..16
# CHECK-NEXT:               C

# CHECK: scf.for {{.*}} to %c16 step %c8
# CHECK:   scf.for {{.*}} to %c32 step %c16
# CHECK:     scf.for {{.*}} to %c6 step %c1
# CHECK:       scf.for {{.*}} to %c8 step %c2
# CHECK:         scf.for {{.*}} to %c2 step %c1
# CHECK:           scf.for {{.*}} to %c16 step %c1
# CHECK:             linalg.generic

# The name of a tile stands for its axis.
schedule = xtc.Schedule(gb.graph)
print(schedule["C"].tile("i", {"t1": 4}).tile("t1", {"t2": 2}).loops)
# CHECK: ('i', 'j', 'k', 't1', 't2')
