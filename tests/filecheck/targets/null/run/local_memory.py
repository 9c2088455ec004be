# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
# RUN: not %python %s large 2>&1 | FileCheck %s --check-prefix=LARGE
"""Packed tiles are in local memory, filled by bursts, one iteration ahead, with correct results."""

import sys

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.driver import prepare

a = O.tensor((100, 600), name="A")
b = O.tensor((600, 52), name="B")
with O.graph(name="product") as graph:
    O.matmul(a, b, name="C")
schedule = xtc.Schedule(graph.graph)
C = schedule["C"]
C.tile("i", {"i1": 25}).tile("k", {"k1": 300 if "large" in sys.argv else 100})
C.interchange(["i", "k", "i1", "k1", "j"]).pack_at("k", 0).pack_at("k", 1)

try:
    print(prepare(graph.graph, target="null", schedule=schedule).stage_text("offloaded"))
except UserError as error:
    sys.exit(str(error))
with xtc.compile(graph.graph, target="null", schedule=schedule) as module:
    print(module.check()[0].ok)

# Two slots of 25 x 100 and of 100 x 52, each aligned to 64 bytes: 2 * 10000 -> 20032, 2 * 20800.
# CHECK:      func.func @product.null0.0
# CHECK-SAME:   xtc.local_bytes = 61632
# CHECK:      %[[LOCAL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<65536xi8, 2>
# CHECK:      memref.view %[[LOCAL]][%c41600][] : memref<65536xi8, 2> to memref<2x25x100xf32, 2>
# CHECK:      "llvm.intr.memcpy"
# CHECK:      memref.view %[[LOCAL]][%c0][] : memref<65536xi8, 2> to memref<2x100x52xf32, 2>
# CHECK:      "llvm.intr.memcpy"
# CHECK:      scf.for %[[K:.*]] = %c0 to %c600 step %c100 {
# CHECK:        %[[NEXT:.*]] = arith.addi %[[K]], %c100
# CHECK:        %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %c600
# CHECK:        scf.if %[[MORE]] {
# CHECK:          "llvm.intr.memcpy"
# CHECK:        linalg.generic
# CHECK:      True

# LARGE:      kernel 'product.null0.0' needs {{[0-9]+}} bytes of local memory, which has 65536 for buffers
# LARGE-NEXT: note: 62400 bytes: memref<300x52xf32, 2>
# LARGE:      hint: choose smaller tiles
