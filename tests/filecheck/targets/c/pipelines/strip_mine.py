# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""A loop over tiles of 8 has the comment i#8, and counts inside a tile."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
schedule["C"].strip_mine("i", {"i1": 8})
print(prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code"))

# CHECK: for (ptrdiff_t i = 0; i < 32; i += 8) {
# CHECK:   for (ptrdiff_t j = 0; j < 16; ++j) {
# CHECK:     for (ptrdiff_t k = 0; k < 48; ++k) {
# CHECK:       for (ptrdiff_t [[IN:.*]] = 0; [[IN]] < 8; ++[[IN]]) {  // i
# CHECK:         C[i + [[IN]]][j] += A[i + [[IN]]][k] * B[k][j];
