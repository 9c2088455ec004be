# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Each segment of a split axis has a loop nest; indices stay those of the whole array."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
low, high = schedule["C"].split("i", {"low": 0, "high": 20}).values()
high.interchange(["k", "j", "i"])
print(prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code"))

# CHECK: for (ptrdiff_t i = 0; i < 20; ++i) {
# CHECK:     for (ptrdiff_t k = 0; k < 48; ++k) {
# CHECK:       += A[i][k] * B[k][j];
# CHECK: for (ptrdiff_t k = 0; k < 48; ++k) {
# CHECK:     for (ptrdiff_t i = 0; i < 12; ++i) {
# CHECK:       C[i + 20][j] += A[i + 20][k] * B[k][j];
