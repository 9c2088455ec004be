# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""tanh is the hyperbolic tangent of every element; half floats are computed in float32."""

import xtc.ops as O

x = O.tensor((2, 3), "float16", name="x")
with O.graph(name="tanh_graph") as gb:
    O.tanh(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @tanh_graph
# CHECK: linalg.generic
# CHECK-SAME: iterator_types = ["parallel", "parallel"]
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
# CHECK-NEXT: %[[Y:.*]] = math.tanh %[[WIDE]] : f32
# CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[Y]] : f32 to f16
# CHECK-NEXT: linalg.yield %[[ROUNDED]]
