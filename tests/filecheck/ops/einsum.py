# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""einsum has the equation's letters as loops."""

import xtc.ops as O

a = O.tensor((2, 3, 4), name="a")
b = O.tensor((4, 2, 5), name="b")
with O.graph(name="einsum_graph") as gb:
    O.einsum("bij,jbk->bik", a, b, name="y")
graph = gb.graph

# CHECK-DAG: affine_map<(d0, d1, d2, d3) -> (d3, d0, d2)>
# CHECK-LABEL: func.func @einsum_graph
# CHECK: __xtc_id_y_, loop.dims = ["b", "i", "k", "j"]
