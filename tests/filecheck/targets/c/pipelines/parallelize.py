# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""The body of a parallel loop is a function that a pool of threads calls for parts of the range."""

import xtc
import xtc.ops as O
from xtc.driver import prepare

a, b = O.tensor((32, 48), name="A"), O.tensor((48, 16), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(gb.graph)
schedule["C"].parallelize(["i"])
print(prepare(gb.graph, schedule=schedule, codegen="c", threads=4).stage_text("code"))

# The loader stores the pool's function here.
# CHECK: struct xtc_parallel xtc_loops = {xtc_run_serially, 1};

# The body, for a range of iterations.
# CHECK: static __attribute__((noinline)) void product_parallel_0(
# CHECK-DAG: const float A[restrict 32][48],
# CHECK-DAG: float C[restrict 32][16],
# CHECK-DAG: const float B[restrict 48][16],
# CHECK: for (ptrdiff_t i = first; i < last; ++i) {

# The struct that passes the arguments to the threads.
# CHECK: struct product_parallel_0_context {
# CHECK: static void product_parallel_0_chunk(void *context, int64_t first, int64_t last) {
# CHECK:   product_parallel_0(values->{{.*}}, first, last);

# CHECK: void product(
# CHECK:   // i in parallel
# CHECK:   struct product_parallel_0_context parallel_loop = {{[{].*[}]}};
# CHECK:   xtc_loops.run(product_parallel_0_chunk, &parallel_loop, 32, xtc_loops.threads);
