# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Vectors are those of GCC and Clang: whole ones, then one that is masked where the machine can."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 21), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
schedule["C"].interchange(["i", "k", "j"]).vectorize(["j"])
X86 = "x86_64-unknown-linux-gnu"
for cpu in ("haswell", "x86-64"):
    compilation = prepare(gb.graph, schedule=schedule, codegen="c", cpu=cpu, triple=X86)
    print(compilation.stage_text("code"))

# CHECK: typedef float f32x8 __attribute__((vector_size(32)));

# CHECK: for (ptrdiff_t i = 0; i < 32; ++i) {
# CHECK:   f32x8 C_0 = load_f32x8(&C[i][0]);
# CHECK:   for (ptrdiff_t k = 0; k < 48; ++k) {
# CHECK:     const float A_0 = A[i][k];
# CHECK:     C_0 += A_0 * load_f32x8(&B[k][0]);
# CHECK:     C_1 += A_0 * load_f32x8(&B[k][8]);
# CHECK:     C_2 += A_0 * load_part_f32x8(&B[k][16], 5);
# CHECK:   store_f32x8(&C[i][0], C_0);
# CHECK:   store_part_f32x8(&C[i][16], C_2, 5);

# SSE masks nothing: a shorter vector, then a single element.
# CHECK:     C_4 += A_0 * load_f32x4(&B[k][16]);
# CHECK:     C_5 += A_0 * B[k][20];
