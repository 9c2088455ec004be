# SPDX-License-Identifier: Apache-2.0
"""Two matmuls on an accelerator that holds W; the host computes the rest. See docs/offload.md."""

import numpy as np

import xtc.ops as O

x = O.tensor((8, 16), "float32", name="X")
w = O.tensor((16, 32), name="W", device="mppa0", const=np.eye(16, 32, dtype=np.float32))
v = O.tensor((32, 8), "float32", name="V")
with O.graph(name="layers") as graph:
    h = O.matmul(x, w, name="H", device="mppa0")
    y = O.matmul(h, v, name="Y", device="mppa0")
    O.relu(y, name="R")
