# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s
"""shift_right is defined for shifts by all bits and more."""

import xtc.ops as O

a, b = O.tensor((2, 3), "int32", name="a"), O.tensor((3,), "int32", name="b")
with O.graph(name="shift_right_graph") as gb:
    O.shift_right(a, b, name="y")
graph = gb.graph

# CHECK-LABEL: func.func @shift_right_graph
# CHECK: linalg.generic
# CHECK-SAME: __xtc_id_y_, loop.dims = ["i", "j"]
# CHECK: arith.shrsi
