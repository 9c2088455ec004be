# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""The C of an int8 matrix-vector product: readable, complete, and by the machine's 8-bit products."""

import xtc.ops as O
from xtc.driver import prepare

a = O.tensor((256, 128), "int8", name="A")
x = O.tensor((128,), "int8", name="x")
with O.graph(name="gemv") as graph:
    O.gemv(a, x, name="y")
print(prepare(graph.graph, target="upmem", nr_dpus=4).stage_text("code"))

# CHECK:     __host uint32_t xtc_call[
# CHECK:     static inline int32_t xtc_mul8(int32_t a, int32_t b)
# CHECK:     static void gemv_upmem0_{{.*}}(
# CHECK:       xtc_get((ptrdiff_t)tile
# CHECK:       for (ptrdiff_t {{.*}} = tasklet; {{.*}} += 16)
# CHECK:         xtc_mul8(
# CHECK:       xtc_put(
# CHECK:     xtc_buffer(0, 8192)
