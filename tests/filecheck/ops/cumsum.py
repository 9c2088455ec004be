# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""cumsum doubles the distance from step to step."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="cumsum_graph") as gb:
    O.cumsum(x, axis=1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @cumsum_graph
# CHECK: __xtc_id_y.by1_
# CHECK: arith.addf
# CHECK: __xtc_id_y.by2_
# CHECK: __xtc_id_y.by4_
# CHECK: __xtc_id_y_,
