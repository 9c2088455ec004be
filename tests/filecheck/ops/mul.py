# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""mul computes half floats in float32 and rounds once."""

import xtc.ops as O

a = O.tensor((2, 3), "bfloat16", name="a")
b = O.tensor((2, 3), "bfloat16", name="b")
with O.graph(name="mul_graph") as gb:
    O.mul(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @mul_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: %[[A:.*]] = arith.extf %{{.*}} : bf16 to f32
# CHECK: %[[B:.*]] = arith.extf %{{.*}} : bf16 to f32
# CHECK: %[[Y:.*]] = arith.mulf %[[A]], %[[B]] : f32
# CHECK: arith.truncf %[[Y]] : f32 to bf16
