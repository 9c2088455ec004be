# SPDX-License-Identifier: Apache-2.0
"""A matmul on an accelerator that holds B and C; A is on the host. See docs/offload.md."""

import xtc.ops as O

a = O.tensor((4, 16), "float32", name="A")
b = O.tensor((16, 8), "float32", name="B", device="mppa0")
with O.graph(name="matmul") as graph:
    O.matmul(a, b, name="C", device="mppa0")
