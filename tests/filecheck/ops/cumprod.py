# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""cumprod doubles the distance from step to step."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="cumprod_graph") as gb:
    O.cumprod(x, axis=1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @cumprod_graph
# CHECK: __xtc_id_y.by1_
# CHECK: arith.mulf
# CHECK: __xtc_id_y.by2_
# CHECK: __xtc_id_y.by4_
# CHECK: __xtc_id_y_,
