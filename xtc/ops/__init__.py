# SPDX-License-Identifier: Apache-2.0
"""The operators a graph is written with, one file each: `import xtc.ops as O`."""

from xtc.graph.builder import graph, inputs, outputs, tensor
from xtc.ops.add import add
from xtc.ops.avg_pool2d import avg_pool2d
from xtc.ops.cast import cast
from xtc.ops.concat import concat
from xtc.ops.conv2d import conv2d
from xtc.ops.div import div
from xtc.ops.exp import exp
from xtc.ops.gelu import gelu
from xtc.ops.gemv import gemv
from xtc.ops.layer_norm import layer_norm
from xtc.ops.leaky_relu import leaky_relu
from xtc.ops.log import log
from xtc.ops.matmul import matmul
from xtc.ops.max_pool2d import max_pool2d
from xtc.ops.maximum import maximum
from xtc.ops.minimum import minimum
from xtc.ops.mul import mul
from xtc.ops.neg import neg
from xtc.ops.pad import pad
from xtc.ops.reduce_max import reduce_max
from xtc.ops.reduce_mean import reduce_mean
from xtc.ops.reduce_min import reduce_min
from xtc.ops.reduce_sum import reduce_sum
from xtc.ops.relu import relu
from xtc.ops.reshape import reshape
from xtc.ops.sigmoid import sigmoid
from xtc.ops.slice import slice
from xtc.ops.softmax import softmax
from xtc.ops.sqrt import sqrt
from xtc.ops.sub import sub
from xtc.ops.tanh import tanh
from xtc.ops.transpose import transpose
from xtc.ops.unpad import unpad
from xtc.ops.where import where

__all__ = [
    "add",
    "avg_pool2d",
    "cast",
    "concat",
    "conv2d",
    "div",
    "exp",
    "gelu",
    "gemv",
    "graph",
    "inputs",
    "layer_norm",
    "leaky_relu",
    "log",
    "matmul",
    "max_pool2d",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "outputs",
    "pad",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "relu",
    "reshape",
    "sigmoid",
    "slice",
    "softmax",
    "sqrt",
    "sub",
    "tanh",
    "tensor",
    "transpose",
    "unpad",
    "where",
]
