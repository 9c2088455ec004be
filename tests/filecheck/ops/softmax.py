# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""softmax is a maximum, exponentials, their sum and, as main operation, a division."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="softmax_graph") as gb:
    O.softmax(x, axis=-1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @softmax_graph
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "reduction"]
# CHECK-SAME: __xtc_id_y.max_
# CHECK: arith.maximumf
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y.exp_
# CHECK: %[[CENTERED:.*]] = arith.subf
# CHECK: math.exp %[[CENTERED]]
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "reduction"]
# CHECK-SAME: __xtc_id_y.sum_
# CHECK: arith.addf
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.divf
