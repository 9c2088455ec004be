# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""external_at: a function in C computes the inner loops of a loop."""

import sys
from pathlib import Path

import xtc
import xtc.ops as O
from xtc.driver import prepare

KERNEL = """
#include <stdint.h>

int32_t tile(float *c, const float *a, const float *b, int64_t extent_i, int64_t extent_j,
             int64_t c_i, int64_t c_j, int64_t a_i, int64_t a_j, int64_t b_i, int64_t b_j)
{
  for (int64_t i = 0; i < extent_i; i++)
    for (int64_t j = 0; j < extent_j; j++)
      c[i * c_i + j * c_j] += a[i * a_i] * b[j * b_j];
  return 0;
}
"""

kernel = Path(sys.argv[0]).parent / "Output" / "external_at.c"
kernel.parent.mkdir(exist_ok=True)
kernel.write_text(KERNEL)
a = O.tensor((12, 6), name="A")
b = O.tensor((6, 32), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

schedule = xtc.Schedule(gb.graph)
C = schedule["C"].strip_mine("i", {"i1": 8}).strip_mine("j", {"j1": 16})
C.interchange(["i", "j", "k", "i1", "j1"]).external_at("k", "tile", sources=kernel)
print(schedule)
print(prepare(gb.graph, schedule=schedule).stage_text("bufferized"))
print(prepare(gb.graph, schedule=schedule, codegen="c").stage_text("code"))
for codegen in ("llvm", "c"):
    with xtc.compile(gb.graph, schedule=schedule, codegen=codegen) as module:
        module.check()
        print("checked")

# CHECK:      C (i: 12, j: 32, k: 6 reduced)
# CHECK-NEXT:   for i in 0..12 step 8
# CHECK-NEXT:     for j in 0..32 step 16
# CHECK-NEXT:       for k in 0..6  // external tile
# CHECK-NEXT:         for i1 in 0..8
# CHECK-NEXT:           for j1 in 0..16
# CHECK-NEXT:             C

# A function for each shape of tile; here of 8 and of 4 rows.
# CHECK-COUNT-2: xtc.external = {flags = [], function = "tile", loops = array<i64: 0, 1>, names = ["i", "j"]

# CHECK: void xtc_tile_tile0(ptrdiff_t, ptrdiff_t, ptrdiff_t);
# CHECK: for (ptrdiff_t k = 0; k < 6; ++k)
# CHECK:   xtc_tile_tile0((ptrdiff_t)C{{.*}}, (ptrdiff_t)A + {{.*}}, (ptrdiff_t)B

# CHECK-COUNT-2: checked
