# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""gather_elements takes the other indices from the position of the index."""

import xtc.ops as O

x = O.tensor((4, 6), name="x")
i = O.tensor((2, 3), "int32", name="i")
with O.graph(name="gather_elements_graph") as gb:
    O.gather_elements(x, i, axis=1, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @gather_elements_graph
# CHECK: linalg.generic {{.*}}__xtc_id_y_
# CHECK: linalg.index 0
# CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x6xf32>
