# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Copies of a body follow each other, each with a separate accumulator."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
schedule["C"].strip_mine("i", {"i1": 2}).unroll({"i1": 2})
print(prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code"))

# CHECK: for (ptrdiff_t i = 0; i < 32; i += 2) {
# CHECK:   for (ptrdiff_t j = 0; j < 16; ++j) {
# CHECK:     float C_0 = C[i][j];
# CHECK:     float C_1 = C[i + 1][j];
# CHECK:     for (ptrdiff_t k = 0; k < 48; ++k) {
# CHECK-NOT:   for
# CHECK:       C_0 += A[i][k] * {{.*}};
# CHECK:       C_1 += A[i + 1][k] * {{.*}};
