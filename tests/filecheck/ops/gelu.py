# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""gelu weighs x with a normal distribution, exactly or approximated with tanh."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
with O.graph(name="gelu_graph") as gb:
    O.gelu(x, name="exact")
    O.gelu(x, approximate="tanh", name="approximated")
graph = gb.graph

# CHECK-LABEL: func.func @gelu_graph
# CHECK: __xtc_id_exact_
# CHECK: math.erf
# CHECK: __xtc_id_approximated_
# CHECK: %[[CUBIC:.*]] = arith.constant 4.471
# CHECK: arith.mulf %{{.*}}, %[[CUBIC]]
# CHECK: math.tanh
