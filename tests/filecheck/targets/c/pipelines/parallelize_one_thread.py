# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""On one thread a parallel loop is a plain loop with its name."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
schedule["C"].interchange(["j", "i", "k"]).parallelize(["j"])
print(prepare(gb.graph, schedule=schedule, codegen="c", threads=1).stage_text("code"))

# CHECK-NOT: xtc_
# CHECK: // C
# CHECK: for (ptrdiff_t j = 0; j < 16; ++j) {
# CHECK:   for (ptrdiff_t i = 0; i < 32; ++i) {
# CHECK:     for (ptrdiff_t k = 0; k < 48; ++k) {
# CHECK-NOT: xtc_
