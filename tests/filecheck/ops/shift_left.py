# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""shift_left is defined for shifts by all bits and more."""

import xtc.ops as O

a, b = O.tensor((2, 3), "int32", name="a"), O.tensor((3,), "int32", name="b")
with O.graph(name="shift_left_graph") as gb:
    O.shift_left(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @shift_left_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.shli
