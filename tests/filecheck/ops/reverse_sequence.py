# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""reverse_sequence reverses the first elements of each row."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
n = O.tensor((4,), "int64", name="n")
with O.graph(name="reverse_sequence_graph") as gb:
    O.reverse_sequence(x, n, batch_axis=0, time_axis=1, name="y")
graph = gb.graph

# CHECK-DAG: affine_map<(d0, d1) -> (d0)>
# CHECK-LABEL: func.func @reverse_sequence_graph
# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: arith.select
# CHECK: tensor.extract %{{.*}}
