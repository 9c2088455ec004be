# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""What tiles leave over is a loop nest of its own, after that of the whole tiles."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((35, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
schedule["C"].tile("i", {"i1": 8})
print(prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code"))

# CHECK: for (ptrdiff_t i = 0; i < 32; i += 8) {
# CHECK:       for (ptrdiff_t i8 = 0; i8 < 8; ++i8) {  // i#8
# CHECK:         C[i + i8][j] += A[i + i8][k] * B[k][j];
# CHECK: for (ptrdiff_t j = 0; j < 16; ++j) {
# CHECK:     for (ptrdiff_t i8 = 0; i8 < 3; ++i8) {  // i#8
# CHECK:       C[i8 + 32][j] += A[i8 + 32][k] * B[k][j];
