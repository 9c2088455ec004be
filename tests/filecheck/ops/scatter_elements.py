# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""scatter_elements stores elements in order; out of range, it stores the old value."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
i = O.tensor((2, 3), "int32", name="i")
u = O.tensor((2, 3), name="u")
with O.graph(name="scatter_elements_graph") as gb:
    O.scatter_elements(x, i, u, axis=1, reduction="add", name="y")
graph = gb.graph

# CHECK-LABEL: func.func @scatter_elements_graph
# CHECK: scf.for %{{.*}} = %{{.*}} iter_args
# CHECK: scf.for %{{.*}}
# CHECK: tensor.extract %{{.*}}
# CHECK: arith.addf
# CHECK: arith.select
# CHECK: tensor.insert
