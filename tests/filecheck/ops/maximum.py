# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""maximum propagates NaN, compares integers with their sign, and is a logical or of bool."""

import xtc.ops as O

with O.graph(name="maximum_graph") as gb:
    for dtype in ("float32", "int16", "bool"):
        a, b = O.tensor((4,), dtype), O.tensor((4,), dtype)
        O.maximum(a, b, name=f"of_{dtype}")
graph = gb.graph

# CHECK-LABEL: func.func @maximum_graph
# CHECK: __xtc_id_of_float32_
# CHECK: arith.maximumf %{{.*}} : f32
# CHECK: __xtc_id_of_int16_
# CHECK: arith.maxsi %{{.*}} : i16
# CHECK: __xtc_id_of_bool_
# CHECK: arith.maxui %{{.*}} : i8
