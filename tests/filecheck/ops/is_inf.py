# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""is_inf compares the magnitude with infinity."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="is_inf_graph") as gb:
    O.is_inf(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @is_inf_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: math.absf
# CHECK: arith.cmpf oeq
