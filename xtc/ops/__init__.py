# SPDX-License-Identifier: Apache-2.0
"""The operators of graphs, one file each: `import xtc.ops as O`."""

from xtc.graph.builder import graph, inputs, outputs, tensor, update
from xtc.ops import python_operators  # noqa: F401  fills what `a + b` writes
from xtc.ops.abs import abs
from xtc.ops.acos import acos
from xtc.ops.acosh import acosh
from xtc.ops.add import add
from xtc.ops.argmax import argmax
from xtc.ops.argmin import argmin
from xtc.ops.asin import asin
from xtc.ops.asinh import asinh
from xtc.ops.atan import atan
from xtc.ops.atanh import atanh
from xtc.ops.avg_pool2d import avg_pool2d
from xtc.ops.bit_cast import bit_cast
from xtc.ops.bitwise_and import bitwise_and
from xtc.ops.bitwise_not import bitwise_not
from xtc.ops.bitwise_or import bitwise_or
from xtc.ops.bitwise_xor import bitwise_xor
from xtc.ops.cast import cast
from xtc.ops.ceil import ceil
from xtc.ops.coded_weights import coded_weights
from xtc.ops.concat import concat
from xtc.ops.conv2d import conv2d
from xtc.ops.conv3d import conv3d
from xtc.ops.cos import cos
from xtc.ops.cosh import cosh
from xtc.ops.cumprod import cumprod
from xtc.ops.cumsum import cumsum
from xtc.ops.dequantize import dequantize
from xtc.ops.dilate import dilate
from xtc.ops.div import div
from xtc.ops.einsum import einsum
from xtc.ops.equal import equal
from xtc.ops.erf import erf
from xtc.ops.exp import exp
from xtc.ops.expand import expand
from xtc.ops.flip import flip
from xtc.ops.floor import floor
from xtc.ops.fmod import fmod
from xtc.ops.gather import gather
from xtc.ops.gather_elements import gather_elements
from xtc.ops.gather_nd import gather_nd
from xtc.ops.gelu import gelu
from xtc.ops.gemv import gemv
from xtc.ops.greater import greater
from xtc.ops.greater_equal import greater_equal
from xtc.ops.is_inf import is_inf
from xtc.ops.is_nan import is_nan
from xtc.ops.layer_norm import layer_norm
from xtc.ops.leaky_relu import leaky_relu
from xtc.ops.less import less
from xtc.ops.less_equal import less_equal
from xtc.ops.log import log
from xtc.ops.logical_not import logical_not
from xtc.ops.matmul import matmul
from xtc.ops.max_pool2d import max_pool2d
from xtc.ops.maximum import maximum
from xtc.ops.minimum import minimum
from xtc.ops.mul import mul
from xtc.ops.neg import neg
from xtc.ops.not_equal import not_equal
from xtc.ops.pad import pad
from xtc.ops.pad_mirrored import pad_mirrored
from xtc.ops.pow import pow
from xtc.ops.quantize import quantize
from xtc.ops.quantized import (
    Quantization,
    lookup,
    quantized_add,
    quantized_mean,
    quantized_mul,
    quantized_sub,
)
from xtc.ops.quantized_softmax import quantized_softmax
from xtc.ops.reduce_max import reduce_max
from xtc.ops.reduce_mean import reduce_mean
from xtc.ops.reduce_min import reduce_min
from xtc.ops.reduce_prod import reduce_prod
from xtc.ops.reduce_sum import reduce_sum
from xtc.ops.relu import relu
from xtc.ops.remainder import remainder
from xtc.ops.requantize import requantize
from xtc.ops.resample import resample
from xtc.ops.reshape import reshape
from xtc.ops.reverse_sequence import reverse_sequence
from xtc.ops.round import round
from xtc.ops.rsqrt import rsqrt
from xtc.ops.scan import scan
from xtc.ops.scatter_elements import scatter_elements
from xtc.ops.scatter_nd import scatter_nd
from xtc.ops.shift_left import shift_left
from xtc.ops.shift_right import shift_right
from xtc.ops.sigmoid import sigmoid
from xtc.ops.sign import sign
from xtc.ops.silu import silu
from xtc.ops.sin import sin
from xtc.ops.sinh import sinh
from xtc.ops.slice import slice
from xtc.ops.softmax import softmax
from xtc.ops.sqrt import sqrt
from xtc.ops.sub import sub
from xtc.ops.tan import tan
from xtc.ops.tanh import tanh
from xtc.ops.tile import tile
from xtc.ops.topk import topk
from xtc.ops.transpose import transpose
from xtc.ops.trilu import trilu
from xtc.ops.trunc import trunc
from xtc.ops.trunc_div import trunc_div
from xtc.ops.unpad import unpad
from xtc.ops.where import where

__all__ = [
    "Quantization",
    "abs",
    "acos",
    "acosh",
    "add",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "avg_pool2d",
    "bit_cast",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cast",
    "ceil",
    "coded_weights",
    "concat",
    "conv2d",
    "conv3d",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "dequantize",
    "dilate",
    "div",
    "einsum",
    "equal",
    "erf",
    "exp",
    "expand",
    "flip",
    "floor",
    "fmod",
    "gather",
    "gather_elements",
    "gather_nd",
    "gelu",
    "gemv",
    "graph",
    "greater",
    "greater_equal",
    "inputs",
    "is_inf",
    "is_nan",
    "layer_norm",
    "leaky_relu",
    "less",
    "less_equal",
    "log",
    "logical_not",
    "lookup",
    "matmul",
    "max_pool2d",
    "maximum",
    "minimum",
    "mul",
    "neg",
    "not_equal",
    "outputs",
    "pad",
    "pad_mirrored",
    "pow",
    "quantize",
    "quantized_add",
    "quantized_mean",
    "quantized_mul",
    "quantized_softmax",
    "quantized_sub",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "relu",
    "remainder",
    "requantize",
    "resample",
    "reshape",
    "reverse_sequence",
    "round",
    "rsqrt",
    "scan",
    "scatter_elements",
    "scatter_nd",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "slice",
    "softmax",
    "sqrt",
    "sub",
    "tan",
    "tanh",
    "tensor",
    "tile",
    "topk",
    "transpose",
    "trilu",
    "trunc",
    "trunc_div",
    "unpad",
    "update",
    "where",
]
