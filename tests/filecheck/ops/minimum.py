# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""minimum propagates NaN, compares integers with their sign, and is a logical and of bool."""

import xtc.ops as O

with O.graph(name="minimum_graph") as gb:
    for dtype in ("float32", "int16", "bool"):
        a, b = O.tensor((4,), dtype), O.tensor((4,), dtype)
        O.minimum(a, b, name=f"of_{dtype}")
graph = gb.graph

# CHECK-LABEL: func.func @minimum_graph
# CHECK: __xtc_id_of_float32_
# CHECK: arith.minimumf %{{.*}} : f32
# CHECK: __xtc_id_of_int16_
# CHECK: arith.minsi %{{.*}} : i16
# CHECK: __xtc_id_of_bool_
# CHECK: arith.minui %{{.*}} : i8
