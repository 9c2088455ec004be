# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Loops are in the order of the schedule; the sum stays in memory unless k is innermost."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
schedule["C"].interchange(["k", "i", "j"])
print(prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code"))

# CHECK: for (ptrdiff_t k = 0; k < 48; ++k) {
# CHECK-NEXT:   for (ptrdiff_t i = 0; i < 32; ++i) {
# CHECK-NEXT:     for (ptrdiff_t j = 0; j < 16; ++j) {
# CHECK-NEXT:       C[i][j] += A[i][k] * B[k][j];
