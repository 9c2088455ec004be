# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""gamma must have the shape of the normalized dimensions."""

import xtc.ops as O

x = O.tensor((2, 3, 4), name="x")
gamma = O.tensor((4,), name="gamma")
with O.graph(name="wrong") as gb:
    O.layer_norm(x, gamma, axis=1)
graph = gb.graph

# CHECK: layer_norm_gamma.py:10: gamma of layer_norm has shape (4,), not (3, 4)
# CHECK-NEXT: note: its shape is that of the normalized dimensions
