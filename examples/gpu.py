# SPDX-License-Identifier: Apache-2.0
"""The elementwise square of a matrix on a GPU, where the result stays. See docs/gpu.md."""

import xtc.ops as O

x = O.tensor((70, 33), "float32", name="X", device="nvgpu0")
with O.graph(name="squares") as graph:
    O.mul(x, x, name="Y", device="nvgpu0")
