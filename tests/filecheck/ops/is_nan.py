# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""is_nan compares with itself: only NaN is unequal."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="is_nan_graph") as gb:
    O.is_nan(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @is_nan_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.cmpf une
