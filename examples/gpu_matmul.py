# SPDX-License-Identifier: Apache-2.0
"""A matmul on a GPU, in the thread blocks of gpu_matmul.yaml. See docs/gpu.md."""

import xtc.ops as O

a = O.tensor((256, 64), "float32", name="A", device="nvgpu0")
b = O.tensor((64, 512), "float32", name="B", device="nvgpu0")
with O.graph(name="matmul") as graph:
    O.matmul(a, b, name="C", device="nvgpu0")
