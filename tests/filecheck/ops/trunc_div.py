# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""trunc_div never divides by zero."""

import xtc.ops as O

a, b = O.tensor((2, 3), "int32", name="a"), O.tensor((3,), "int32", name="b")
with O.graph(name="trunc_div_graph") as gb:
    O.trunc_div(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @trunc_div_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.divsi %{{.*}} : i32
