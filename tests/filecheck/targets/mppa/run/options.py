# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-run %s --target mppa | FileCheck %s
# RUN: xtc-run %s --target mppa -O clusters=2 -O pes=3 | FileCheck %s
# RUN: xtc-run %s --target mppa -O double_buffer=false | FileCheck %s
# RUN: xtc-run %s --target mppa -O codegen=c | FileCheck %s
# RUN: xtc-run %s --target mppa --measure --repeat 2 | FileCheck %s --check-prefix=MEASURE
# RUN: not xtc-run %s --target mppa -O clusters=6 2>&1 | FileCheck %s --check-prefix=REFUSED
"""A graph without placements runs on the device as a whole, on all clusters or on some."""

import xtc.ops as O

x = O.tensor((2, 9, 9, 3), name="X")
k = O.tensor((3, 3, 3, 8), name="K")
with O.graph(name="features") as graph:
    O.max_pool2d(O.relu(O.conv2d(x, k, padding=1)), window=2, stride=2, name="Y")

# CHECK: check Y: all 256 elements agree

# MEASURE: modelled

# REFUSED: clusters=6 is not a whole number from 1 to 5
