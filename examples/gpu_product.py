# SPDX-License-Identifier: Apache-2.0
"""A matrix product on a GPU, in blocks of threads as gpu_product.yaml says. See docs/gpu.md."""

import xtc.ops as O

a = O.tensor((256, 64), "float32", name="A", device="nvgpu0")
b = O.tensor((64, 512), "float32", name="B", device="nvgpu0")
with O.graph(name="product") as graph:
    O.matmul(a, b, name="C", device="nvgpu0")
