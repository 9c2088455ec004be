# SPDX-License-Identifier: Apache-2.0
"""The operators a graph is written with, one file each: `import xtc.ops as O`."""

from xtc.graph.builder import graph, inputs, outputs, tensor
from xtc.ops.add import add
from xtc.ops.cast import cast
from xtc.ops.div import div
from xtc.ops.exp import exp
from xtc.ops.gelu import gelu
from xtc.ops.layer_norm import layer_norm
from xtc.ops.leaky_relu import leaky_relu
from xtc.ops.log import log
from xtc.ops.matmul import matmul
from xtc.ops.maximum import maximum
from xtc.ops.minimum import minimum
from xtc.ops.mul import mul
from xtc.ops.neg import neg
from xtc.ops.reduce_max import reduce_max
from xtc.ops.reduce_mean import reduce_mean
from xtc.ops.reduce_min import reduce_min
from xtc.ops.reduce_sum import reduce_sum
from xtc.ops.relu import relu
from xtc.ops.sigmoid import sigmoid
from xtc.ops.softmax import softmax
from xtc.ops.sqrt import sqrt
from xtc.ops.sub import sub
from xtc.ops.tanh import tanh
from xtc.ops.where import where

__all__ = [
    "add",
    "cast",
    "div",
    "exp",
    "gelu",
    "graph",
    "inputs",
    "layer_norm",
    "leaky_relu",
    "log",
    "matmul",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "outputs",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "relu",
    "sigmoid",
    "softmax",
    "sqrt",
    "sub",
    "tanh",
    "tensor",
    "where",
]
