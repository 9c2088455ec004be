# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""resample adds weighted neighbors, tap by tap."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
i = O.tensor((2, 9), "int64", name="i")
w = O.tensor((2, 9), name="w")
with O.graph(name="resample_graph") as gb:
    O.resample(x, i, w, axis=1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @resample_graph
# CHECK: iterator_types = ["parallel", "parallel", "reduction"]{{.*}}__xtc_id_y_
# CHECK: tensor.extract %{{.*}}
# CHECK: arith.mulf
# CHECK: arith.addf
