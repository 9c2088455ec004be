# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""scan is one loop over the rows, whose body reads the row that the last iteration wrote."""

import xtc.ops as O

x, h = O.tensor((9, 6), name="x"), O.tensor((6,), name="h")
with O.graph(name="scan_graph") as gb:
    O.scan(lambda state, row: O.tanh(O.add(state, row)), h, x, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @scan_graph
# CHECK: tensor.insert_slice {{.*}} into tensor<10x6xf32>
# CHECK: scf.for %[[T:.*]] = %{{.*}} iter_args(%[[ALL:.*]] = %{{.*}}) -> (tensor<10x6xf32>) {
# CHECK: tensor.extract_slice %[[ALL]][%[[T]], 0] [1, 6] [1, 1] : tensor<10x6xf32> to tensor<6xf32>
# CHECK: __xtc_id_y.add0_
# CHECK: __xtc_id_y.tanh0_
# CHECK: tensor.insert_slice {{.*}} : tensor<6xf32> into tensor<10x6xf32>
# CHECK: scf.yield
# CHECK-NOT: scf.for
