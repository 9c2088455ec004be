# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""unroll: copies of the body, created after bufferization."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((8, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
schedule["C"].unroll({"k": 3})
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("bufferized"))

# CHECK:      C (i: 8, j: 32, k: 6 reduced)
# CHECK-NEXT:   for i in 0..8
# CHECK-NEXT:     for j in 0..32
# CHECK-NEXT:       for k in 0..6  // unroll 3
# CHECK-NEXT:         C

# CHECK: scf.for %[[K:.*]] = %c0 to %c6 step %c3
# CHECK-COUNT-3: linalg.generic
# CHECK-NOT: linalg.generic
