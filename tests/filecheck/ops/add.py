# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""add broadcasts as NumPy does: a row is read again for every i."""

import xtc.ops as O

a = O.tensor((2, 3), "float32", name="a")
row = O.tensor((1, 3), "float32", name="row")
with O.graph(name="add_graph") as gb:
    O.add(a, row, name="y")
graph = gb.graph

# CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
# CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
# CHECK-LABEL: func.func @add_graph
# CHECK: linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]], #[[ALL]]]
# CHECK-SAME: ins({{.*}} : tensor<2x3xf32>, tensor<3xf32>)
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.addf
