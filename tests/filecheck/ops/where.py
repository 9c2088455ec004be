# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""where selects by a condition; all three operands broadcast."""

import xtc.ops as O

condition = O.tensor((2, 1), "bool", name="condition")
a = O.tensor((2, 3), "float16", name="a")
with O.graph(name="where_graph") as gb:
    O.where(condition, a, 0.0, name="y")
graph = gb.graph

# CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d0)>
# CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
# CHECK-DAG: #[[NONE:.*]] = affine_map<(d0, d1) -> ()>
# CHECK-LABEL: func.func @where_graph
# CHECK: linalg.generic {indexing_maps = [#[[COLUMN]], #[[ALL]], #[[NONE]], #[[ALL]]]
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: ^bb0(%[[STORED:.*]]: i8, %[[A:.*]]: f16, %[[B:.*]]: f16, %{{.*}}: f16):
# CHECK: %[[CONDITION:.*]] = arith.cmpi ne, %[[STORED]]
# CHECK: arith.select %[[CONDITION]], %[[A]], %[[B]] : f16
