# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""argmax finds the largest element, then its lowest position; NaN counts as largest."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="argmax_graph") as gb:
    O.argmax(x, axis=1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @argmax_graph
# CHECK: __xtc_id_y.extreme_
# CHECK: arith.maximumf
# CHECK: iterator_types = ["parallel", "reduction"]{{.*}}__xtc_id_y_
# CHECK: linalg.index 1
# CHECK: arith.cmpf oeq
# CHECK: arith.cmpf une
# CHECK: arith.select
