# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""Equal leading dimensions are a batch; those of size 1, or absent, are not copied but read again."""

import xtc.ops as O

a = O.tensor((5, 2, 4), "float32", name="a")
b = O.tensor((5, 4, 3), "float32", name="b")
w = O.tensor((1, 4, 3), "float32", name="w")
with O.graph(name="matmul_batched") as gb:
    O.matmul(a, b, name="batch")
    O.matmul(a, w, name="broadcast")
graph = gb.graph

# CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
# CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
# CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
# CHECK-LABEL: func.func @matmul_batched
# CHECK: linalg.batch_matmul {__xtc_id_batch_, loop.dims = ["b", "i", "j", "k"]}
# CHECK: linalg.generic {indexing_maps = [#[[A]], #[[W]], #[[Y]]]
# CHECK-SAME: ins({{.*}} : tensor<5x2x4xf32>, tensor<4x3xf32>)
# CHECK-SAME: __xtc_id_broadcast_, loop.dims = ["b", "i", "j", "k"]
