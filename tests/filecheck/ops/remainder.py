# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""remainder adjusts the truncated remainder to the divisor's sign."""

import xtc.ops as O

a, b = O.tensor((2, 3), "float32", name="a"), O.tensor((3,), "float32", name="b")
with O.graph(name="remainder_graph") as gb:
    O.remainder(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @remainder_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.remf %{{.*}} : f32
# CHECK: arith.select
