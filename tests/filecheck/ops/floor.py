# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""floor is one operation of the math dialect."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="floor_graph") as gb:
    O.floor(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @floor_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: math.floor %{{.*}} : f32
