# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""sign is two comparisons, so that NaN and zeros are unchanged."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="sign_graph") as gb:
    O.sign(x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @sign_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.cmpf ogt
# CHECK: arith.cmpf olt
