# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s --stage source 2>&1 | FileCheck %s
"""Filters with another number of channels than the image."""

import xtc.ops as O

x = O.tensor((1, 8, 8, 4), name="x")
w = O.tensor((3, 3, 4, 6), name="w")
with O.graph(name="wrong") as gb:
    O.conv2d(x, w, groups=2)
graph = gb.graph

# CHECK: conv2d_channels.py:10: the filters of conv2d have 4 channels, but the image has 4
# CHECK-NEXT: note: with groups=2 they have 4 / 2 = 2
# CHECK-NEXT: note: operands of conv2d: 1x8x8x4xfloat32, 3x3x4x6xfloat32
