# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""cast from float to int truncates and saturates: only numbers in range reach arith.fptosi."""

import xtc.ops as O

x = O.tensor((4,), "float32", name="x")
n = O.tensor((4,), "int32", name="n")
with O.graph(name="cast_graph") as gb:
    O.cast(x, "int8", name="saturated")
    O.cast(n, "int8", name="wrapped")
    O.cast(x, "float16", name="rounded")
    O.cast(n, "bool", name="truth")
graph = gb.graph

# CHECK-LABEL: func.func @cast_graph
# CHECK: __xtc_id_saturated_, loop.dims = ["i"]
# CHECK: %[[LOW:.*]] = arith.constant -1.28{{0*}}e+02 : f32
# CHECK: %[[HIGH:.*]] = arith.constant 1.28{{0*}}e+02 : f32
# CHECK: %[[UNDER:.*]] = arith.cmpf olt, %[[X:.*]], %[[LOW]]
# CHECK: %[[WITHIN:.*]] = arith.cmpf olt, %[[X]], %[[HIGH]]
# CHECK: %[[SAFE:.*]] = arith.select %[[WITHIN]]
# CHECK: arith.fptosi %[[SAFE]] : f32 to i8
# CHECK: __xtc_id_wrapped_
# CHECK: arith.trunci %{{.*}} : i32 to i8
# CHECK: __xtc_id_rounded_
# CHECK: arith.truncf %{{.*}} : f32 to f16
# CHECK: __xtc_id_truth_
# CHECK: %[[TRUE:.*]] = arith.cmpi ne, %{{.*}} : i32
# CHECK: arith.extui %[[TRUE]] : i1 to i8
