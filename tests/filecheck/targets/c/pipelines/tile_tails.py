# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""The remainder of a tiled loop is a separate loop nest after that of the whole tiles."""

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
# CHECK:       for (ptrdiff_t [[IN:.*]] = 0; [[IN]] < 8; ++[[IN]]) {  // i
# CHECK:         C[i + [[IN]]][j] += A[i + [[IN]]][k] * B[k][j];
# CHECK: for (ptrdiff_t j = 0; j < 16; ++j) {
# CHECK:     for (ptrdiff_t i = 0; i < 3; ++i) {
# CHECK:       C[i + 32][j] += A[i + 32][k] * B[k][j];
