# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""pad_mirrored reflects indices at the ends."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
with O.graph(name="pad_mirrored_graph") as gb:
    O.pad_mirrored(x, ((0, 0), (2, 3)), name="y")
graph = gb.graph

# CHECK-LABEL: func.func @pad_mirrored_graph
# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: arith.remsi
# CHECK: arith.minsi
# CHECK: tensor.extract %{{.*}}
