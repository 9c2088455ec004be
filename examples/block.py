# SPDX-License-Identifier: Apache-2.0
"""The linear layers and normalization of a transformer block, for docs/profiling.md."""

import numpy as np

import xtc.ops as O

rng = np.random.default_rng(0)
x = O.tensor((128, 256), "float32", name="X")
up = O.tensor((256, 1024), name="up", const=rng.standard_normal((256, 1024), np.float32) / 16)
down = O.tensor((1024, 256), name="down", const=rng.standard_normal((1024, 256), np.float32) / 32)
with O.graph(name="block") as graph:
    normal = O.layer_norm(x, name="norm")
    hidden = O.gelu(O.matmul(normal, up, name="expanded"), name="hidden")
    y = O.add(x, O.matmul(hidden, down, name="contracted"), name="Y")
