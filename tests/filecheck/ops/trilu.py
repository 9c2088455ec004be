# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""trilu compares the indices of row and column."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="trilu_graph") as gb:
    O.trilu(x, diagonal=1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @trilu_graph
# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: linalg.index 0
# CHECK: linalg.index 1
# CHECK: arith.cmpi sge
# CHECK: arith.select
