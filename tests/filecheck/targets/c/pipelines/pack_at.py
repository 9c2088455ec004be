# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""The tile of an operand is copied to a dense buffer; without memory the function returns 1."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
schedule["C"].strip_mine("j", {"j1": 8}).interchange(["j", "i", "k", "j1"]).pack_at("j", 1)
print(prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code"))

# CHECK: // Returns 0, or 1 if memory for temporary arrays is exhausted.
# CHECK-NEXT: int product(
# CHECK: float (*const B_tile)[8] = aligned_alloc(64, 1536);
# CHECK-NEXT: if (!B_tile) {
# CHECK-NEXT:   return 1;
# CHECK: for (ptrdiff_t j = 0; j < 16; j += 8) {
# CHECK:     B_tile[{{.*}}] = B[{{.*}}];
# CHECK:     C[i][j + [[IN:.*]]] += A[i][k] * B_tile[k][[[IN]]];
# CHECK: free(B_tile);
