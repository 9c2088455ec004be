# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""A window that could cover only padding has no largest element."""

import xtc.ops as O

x = O.tensor((1, 8, 8, 4), name="x")
with O.graph(name="wrong") as gb:
    O.max_pool2d(x, 2, padding=(0, 2))
graph = gb.graph

# CHECK: pooling_padding.py:9: padding of max_pool2d is 2 in width, but its window spans 2
# CHECK-NEXT: note: a window must not lie in the padding alone
