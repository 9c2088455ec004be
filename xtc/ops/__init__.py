# SPDX-License-Identifier: Apache-2.0
"""The operators a graph is written with, one file each: `import xtc.ops as O`."""

from xtc.graph.builder import graph, inputs, outputs, tensor
from xtc.ops.avg_pool2d import avg_pool2d
from xtc.ops.concat import concat
from xtc.ops.conv2d import conv2d
from xtc.ops.gemv import gemv
from xtc.ops.matmul import matmul
from xtc.ops.max_pool2d import max_pool2d
from xtc.ops.pad import pad
from xtc.ops.relu import relu
from xtc.ops.reshape import reshape
from xtc.ops.slice import slice
from xtc.ops.transpose import transpose
from xtc.ops.unpad import unpad

__all__ = [
    "avg_pool2d",
    "concat",
    "conv2d",
    "gemv",
    "graph",
    "inputs",
    "matmul",
    "max_pool2d",
    "outputs",
    "pad",
    "relu",
    "reshape",
    "slice",
    "tensor",
    "transpose",
    "unpad",
]
