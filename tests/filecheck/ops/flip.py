# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""flip reads from the end."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="flip_graph") as gb:
    O.flip(x, axes=1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @flip_graph
# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: arith.constant 5 : i64
# CHECK: arith.subi
# CHECK: tensor.extract %{{.*}}
