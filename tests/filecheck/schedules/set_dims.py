# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""set_dims: the user names the axes; IR and data keep the operator's names."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((8, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
schedule["C"].set_dims(["row", "column", "term"]).strip_mine("row", {"rows": 4})
print(schedule.texts())
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("scheduled"))

# CHECK:      {'C': '{i: {}, j: {}, k: {}, i#4: {}}'}
# CHECK-NEXT: C (row: 8, column: 32, term: 6 reduced)
# CHECK-NEXT:   for row in 0..8 step 4
# CHECK-NEXT:     for column in 0..32
# CHECK-NEXT:       for term in 0..6
# CHECK-NEXT:         for rows in 0..4
# CHECK-NEXT:           C

# CHECK: {"./i"}
# CHECK: {"./k"}
# CHECK: {"./j"}
# CHECK: {"./i"}
