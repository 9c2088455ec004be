# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""distribute: loops over the memories of a mesh, and over the processors that share one."""

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
schedule["C"].strip_mine("j", {"j1": 8}).distribute({"i": "px", "j": "psx"}).pack_at("j", 1)
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("source"))

# CHECK:      @m {mx: 2}
# CHECK-NEXT: @p over @m {px: 2, psx: 4}
# CHECK-NEXT: C (i: 8, j: 32, k: 6 reduced)
# CHECK-NEXT:   for i in 0..8  // distribute px
# CHECK-NEXT:     for j in 0..32 step 8  // distribute psx, pack 1
# CHECK-NEXT:       for k in 0..6
# CHECK-NEXT:         for j1 in 0..8
# CHECK-NEXT:           C

# CHECK: shard.grid @m(shape = 2) {xtc.axes = ["mx"]}
# CHECK: shard.grid @p(shape = 2x4) {xtc.axes = ["px", "psx"], xtc.memory = @m}
# CHECK: loop.schedule = "{i: {distribute: px}, j: {pack: [1], distribute: psx}, k: {}, j#8: {}}"
