# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""pow is one operation of the math dialect."""

import xtc.ops as O

a, b = O.tensor((2, 3), "float32", name="a"), O.tensor((3,), "float32", name="b")
with O.graph(name="pow_graph") as gb:
    O.pow(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @pow_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: math.powf %{{.*}} : f32
