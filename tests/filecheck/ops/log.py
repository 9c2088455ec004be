# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""log is the natural logarithm of every element."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="log_graph") as gb:
    O.log(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @log_graph
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "parallel"]
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: %[[Y:.*]] = math.log %{{.*}} : f32
# CHECK-NEXT: linalg.yield %[[Y]]
