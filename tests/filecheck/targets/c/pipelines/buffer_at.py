# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""The tile of the result is in a buffer, copied in before the loops and out after them."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
schedule["C"].buffer_at("i")
print(prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code"))

# CHECK: float (*const C_tile)[16] = aligned_alloc(64, 64);
# CHECK: for (ptrdiff_t i = 0; i < 32; ++i) {
# CHECK:     C_tile[0][j] = C[i][j];
# CHECK:     for (ptrdiff_t k = 0; k < 48; ++k) {
# CHECK:       += A[i][k] * B[k][j];
# CHECK:     C[i][j] = C_tile[0][j];
# CHECK: free(C_tile);
