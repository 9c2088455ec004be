# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""The operand is computed inside the loop of its user, one tile per iteration."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.relu(O.matmul(a, b, name="C"), name="R")
schedule = xtc.Schedule(gb.graph)
schedule["R"].fuse_producer_at("i", 0)
print(prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code"))

# CHECK: float (*const C)[16] = aligned_alloc(64, 64);
# CHECK: // R
# CHECK: for (ptrdiff_t i = 0; i < 32; ++i) {
# CHECK:   // C
# CHECK:   for (ptrdiff_t k = 0; k < 48; ++k) {
# CHECK:     += A[i][k] * B[k][j];
# CHECK:   // R
# CHECK:   R[i][j] = {{.*}} <= 0.0f ? 0.0f : {{.*}};
