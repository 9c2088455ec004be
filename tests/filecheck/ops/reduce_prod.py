# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""reduce_prod starts from 1."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="reduce_prod_graph") as gb:
    O.reduce_prod(x, axes=1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @reduce_prod_graph
# CHECK: arith.constant 1.0
# CHECK: linalg.fill {__xtc_id_y.init_}
# CHECK: iterator_types = ["parallel", "reduction"]
# CHECK: arith.mulf
