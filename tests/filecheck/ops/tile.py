# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""tile reads the element at the remainder of the index."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="tile_graph") as gb:
    O.tile(x, (1, 3), name="y")
graph = gb.graph

# CHECK-LABEL: func.func @tile_graph
# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: arith.remsi
# CHECK: tensor.extract %{{.*}}{{.*}} : tensor<4x6xf32>
