# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""atan is one operation of the math dialect."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="atan_graph") as gb:
    O.atan(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @atan_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: math.atan %{{.*}} : f32
