# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""distributed_buffer_at: a shard of an operand in each memory of a mesh."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((8, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
memory = schedule.define_memory_mesh("m", {"mx": 2})
schedule.define_processor_mesh("p", {"px": 2, "psx": 4}, memory)
schedule["C"].distribute("i", "px").distributed_buffer_at("i", 0, ["mx", "*"])
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("source"))

# CHECK:      C (i: 8, j: 32, k: 6 reduced)
# CHECK-NEXT:   for i in 0..8  // distribute px, shard 0 [mx, *]
# CHECK-NEXT:     for j in 0..32
# CHECK-NEXT:       for k in 0..6
# CHECK-NEXT:         C

# CHECK: loop.schedule = "{i: {distribute: px, shard: {0: ['mx', '*']}}, j: {}, k: {}}"
