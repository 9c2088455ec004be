# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""div divides floats."""

import xtc.ops as O

a = O.tensor((2, 3), "float64", name="a")
b = O.tensor((2, 1), "float64", name="b")
with O.graph(name="div_graph") as gb:
    O.div(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @div_graph
# CHECK: linalg.generic
# CHECK-SAME: ins({{.*}} : tensor<2x3xf64>, tensor<2xf64>)
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.divf
