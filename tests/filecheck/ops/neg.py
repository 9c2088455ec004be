# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""neg is a sign flip of floats and 0 - x of integers, which wrap."""

import xtc.ops as O

x = O.tensor((2, 3), "float32", name="x")
n = O.tensor((2, 3), "int8", name="n")
with O.graph(name="neg_graph") as gb:
    O.neg(x, name="floats")
    O.neg(n, name="integers")
graph = gb.graph

# CHECK-LABEL: func.func @neg_graph
# CHECK: __xtc_id_floats_
# CHECK: arith.negf %{{.*}} : f32
# CHECK: __xtc_id_integers_
# CHECK: %[[ZERO:.*]] = arith.constant 0 : i8
# CHECK: arith.subi %[[ZERO]], %{{.*}} : i8
