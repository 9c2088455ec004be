# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""vectorize: the innermost loops become vector operations; a remainder has a shorter vector."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((8, 6), name="A")
b = O.tensor((6, 40), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
schedule["C"].strip_mine("j", {"j1": 16}).vectorize(["j1"])
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("scheduled"))

# CHECK:      C (i: 8, j: 40, k: 6 reduced)
# CHECK-NEXT:   for i in 0..8
# CHECK-NEXT:     for j in 0..40 step 16
# CHECK-NEXT:       for k in 0..6
# CHECK-NEXT:         for j1 in 0..16  // vectorize
# CHECK-NEXT:           C

# CHECK: scf.for {{.*}} to %c8 step %c1
# CHECK:   scf.for {{.*}} to %c32 step %c16
# CHECK:     scf.for {{.*}} to %c6 step %c1
# CHECK:       %[[PRODUCT:.*]] = arith.mulf {{.*}} : vector<16xf32>
# CHECK:       arith.addf %{{.*}}, %[[PRODUCT]] : vector<16xf32>
# The remaining eight columns:
# CHECK:   scf.for {{.*}} to %c6 step %c1
# CHECK:     arith.mulf {{.*}} : vector<8xf32>
# CHECK-NOT: linalg.generic

# A mapping gives the elements of a vector: a tile inside the loop, or the loop where it has no more.
schedule = xtc.Schedule(gb.graph)
schedule["C"].vectorize({"j": 16}).interchange(["k", "i", "j"])
print(schedule)
xtc.compile(gb.graph, schedule=schedule).check()
# CHECK:      for k in 0..6
# CHECK-NEXT:   for i in 0..8
# CHECK-NEXT:     for j in 0..40 step 16
# CHECK-NEXT:       for j_16 in 0..16  // vectorize
schedule = xtc.Schedule(gb.graph)
print(schedule["C"].interchange(["k", "i", "j"]).vectorize({"j": 64}))
# CHECK:          for j in 0..40  // vectorize
# In data, a number does so.
nest = {"C": {"k": {}, "i": {}, "j": {"vectorize": 16}}}
print(xtc.Schedule.of(gb.graph, nest)["C"])
# CHECK:      for k in 0..6
# CHECK-NEXT:   for i in 0..8
# CHECK-NEXT:     for j in 0..40 step 16
# CHECK-NEXT:       for j#16 in 0..16  // vectorize

# Vectors over a reduction alone hold partial sums, which are added after the loop.
schedule = xtc.Schedule(gb.graph)
schedule["C"].tile("k", {"k1": 4}).vectorize(["k1"], reassociate=True)
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("scheduled"))
xtc.compile(gb.graph, schedule=schedule).check()
# CHECK:        for j in 0..40
# CHECK-NEXT:     for k in 0..6 step 4
# CHECK-NEXT:       for k1 in 0..4  // vectorize in any order
# CHECK:        linalg.fill {{.*}} -> tensor<1x1x4xf32>
# CHECK:        arith.addf {{.*}} : vector<4xf32>
# CHECK:        arith.addf {{.*}} fastmath<reassoc> : f32
