# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""reduce_mean is a sum and, as main operation over the result, a division."""

import xtc.ops as O

x = O.tensor((2, 3, 4), "float32", name="x")
with O.graph(name="reduce_mean_graph") as gb:
    O.reduce_mean(x, axes=(0, 2), name="y")
graph = gb.graph

# CHECK-LABEL: func.func @reduce_mean_graph
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["reduction", "parallel", "reduction"]
# CHECK-SAME: __xtc_id_y.sum_
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i"]
# CHECK: %[[COUNT:.*]] = arith.constant 8.0
# CHECK: arith.divf %{{.*}}, %[[COUNT]]
