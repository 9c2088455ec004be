# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""abs of floats clears the sign."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="abs_graph") as gb:
    O.abs(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @abs_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: math.absf %{{.*}} : f32
