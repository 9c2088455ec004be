# SPDX-License-Identifier: Apache-2.0
"""The operators a graph is written with, one file each: `import xtc.ops as O`."""

from xtc.graph.builder import graph, inputs, outputs, tensor
from xtc.ops.matmul import matmul
from xtc.ops.relu import relu

__all__ = [
    "graph",
    "inputs",
    "matmul",
    "outputs",
    "relu",
    "tensor",
]
