# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""scatter_nd reads the position of an update from a row of indices."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
r = O.tensor((5, 1), "int64", name="r")
u = O.tensor((5, 6), name="u")
with O.graph(name="scatter_nd_graph") as gb:
    O.scatter_nd(x, r, u, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @scatter_nd_graph
# CHECK: scf.for %{{.*}} = %{{.*}} iter_args
# CHECK: tensor.extract %{{.*}}
# CHECK: tensor.insert
