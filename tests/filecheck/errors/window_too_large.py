# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""A window larger than the image it slides over."""

import xtc.ops as O

x = O.tensor((1, 8, 4, 4), name="x")
with O.graph(name="wrong") as gb:
    O.avg_pool2d(x, 3, dilation=2)
graph = gb.graph

# CHECK: window_too_large.py:9: the window of avg_pool2d spans 5 of the width, which has 4
# CHECK-NEXT: note: dilation widens the window, padding widens the image
