# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""matmul is linalg.matmul; a transposed operand only has another index map."""

import xtc.ops as O

a = O.tensor((2, 4), "float32", name="a")
b = O.tensor((4, 3), "float32", name="b")
c = O.tensor((3, 4), "float32", name="c")
with O.graph(name="matmul_graph") as gb:
    O.matmul(a, b, name="plain")
    O.matmul(a, c, transpose_b=True, name="transposed")
graph = gb.graph

# CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
# CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
# CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
# CHECK-LABEL: func.func @matmul_graph
# CHECK: %[[INIT:.*]] = linalg.fill {__xtc_id_plain.init_}
# CHECK: linalg.matmul {__xtc_id_plain_, loop.dims = ["i", "j", "k"]}
# CHECK-SAME: ins({{.*}} : tensor<2x4xf32>, tensor<4x3xf32>) outs(%[[INIT]] : tensor<2x3xf32>)
# CHECK: linalg.matmul indexing_maps = [#[[A]], #[[B]], #[[C]]] {__xtc_id_transposed_
# CHECK-SAME: ins({{.*}} : tensor<2x4xf32>, tensor<3x4xf32>)
