# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""gather reads x at the index, counted from the end if negative, clamped to x."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
i = O.tensor((2, 3), "int32", name="i")
with O.graph(name="gather_graph") as gb:
    O.gather(x, i, axis=1, name="y")
graph = gb.graph

# CHECK-DAG: affine_map<(d0, d1, d2) -> (d1, d2)>
# CHECK-LABEL: func.func @gather_graph
# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: linalg.index 0
# CHECK: arith.extsi %{{.*}} : i32 to i64
# CHECK: arith.cmpi slt
# CHECK: arith.maxsi
# CHECK: arith.minsi
# CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x6xf32>
