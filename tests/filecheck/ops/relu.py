# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""relu keeps the larger of x and 0; NaN stays NaN."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="relu_graph") as gb:
    O.relu(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @relu_graph
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "parallel"]
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: %[[ZERO:.*]] = arith.constant 0.0
# CHECK: arith.maximumf %{{.*}}, %[[ZERO]] : f32
