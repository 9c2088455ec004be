# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""fmod is a truncated remainder."""

import xtc.ops as O

a, b = O.tensor((2, 3), "float32", name="a"), O.tensor((3,), "float32", name="b")
with O.graph(name="fmod_graph") as gb:
    O.fmod(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @fmod_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.remf %{{.*}} : f32
