# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""greater gives a byte of 0 or 1."""

import xtc.ops as O

a, b = O.tensor((2, 3), "float32", name="a"), O.tensor((3,), "float32", name="b")
with O.graph(name="greater_graph") as gb:
    O.greater(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @greater_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.cmpf ogt,
# CHECK: arith.extui
