# SPDX-License-Identifier: Apache-2.0
"""Conversion rules: for each float32 operator, a function that writes its int8 form or declines."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

import xtc.ops as O
from xtc.graph.builder import apply
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.ops.avg_pool2d import AvgPool2d
from xtc.ops.concat import Concat
from xtc.ops.conv2d import Conv2d
from xtc.ops.elementwise import Elementwise
from xtc.ops.matmul import Matmul
from xtc.ops.pad import Pad
from xtc.ops.quantized import Quantization
from xtc.ops.softmax import Softmax
from xtc.quantization.chains import Chain
from xtc.quantization.ranges import GREATEST, LEAST, steps
from xtc.quantization.weights import rounded
from xtc.quantization.writer import Writer

SOFTMAX = Quantization(1 / 256, LEAST)

Rule = Callable[[Writer, Node], bool]

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for operators of these names; a rule returns whether it wrote the node."""

    def register(write: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, write))
        return write

    return register


def _limits(chain: Chain, q: Quantization) -> tuple[int, int]:
    """The limits of a chain's activation in steps."""
    low = LEAST if chain.low == -math.inf else int(steps(chain.low, q))
    high = GREATEST if chain.high == math.inf else int(steps(chain.high, q))
    return low, max(low, high)


@rule("conv2d", "matmul")
def contraction(writer: Writer, node: Node) -> bool:
    chain = writer.chains[node.output]
    first = chain.nodes[0]
    x, w = first.inputs
    if not writer.can(x) or w.const is None or not _is_plain(first):
        return _each(writer, chain)
    q, y = writer.quantization(x), writer.quantization(node.output)
    array = np.asarray(w.const)
    if isinstance(first.op, Matmul) and first.op.transpose_b:
        array = array.T
    bias = 0.0 if chain.bias is None else np.asarray(chain.bias.const).reshape(-1)
    found = rounded(array, bias, q)
    weights = O.tensor(found.values.shape, "int8", const=np.ascontiguousarray(found.values))
    sums = _sums(first, writer.int8(x), weights, q)
    total = O.add(sums, O.tensor(found.bias.shape, "int32", const=found.bias))
    (low, high), scales = _limits(chain, y), found.scales / y.scale
    result = O.requantize(total, scales, zero_point=y.zero_point, low=low, high=high)
    writer.whole[node.output] = result, y
    return True


def _is_plain(node: Node) -> bool:
    """Whether filters are the last dimension and each weight belongs to one."""
    op = node.op
    if isinstance(op, Matmul):
        return not op.transpose_a and node.inputs[1].type.rank == 2
    return True


def _sums(node: Node, x: Tensor, weights: Tensor, q: Quantization) -> Tensor:
    op = node.op
    if isinstance(op, Conv2d):
        border = ((0, 0), *op.padding, (0, 0))
        image = O.pad(x, border, value=q.zero_point) if any(map(any, border)) else x
        return O.conv2d(image, weights, stride=op.stride, dilation=op.dilation, groups=op.groups)
    return O.matmul(x, weights)


def _each(writer: Writer, chain: Chain) -> bool:
    """Write the nodes of a chain separately, in float32."""
    for node in chain.nodes:
        writer.plain(node)
    return True


@rule("add", "sub", "mul")
def binary(writer: Writer, node: Node) -> bool:
    chain = writer.chains[node.output]
    first = chain.nodes[0]
    if _is_unary(writer, first) and len(chain.nodes) == 1:
        return table(writer, node)
    found = [_operand(writer, x) for x in first.inputs]
    if any(entry is None for entry in found):
        return _each(writer, chain)
    (a, qa), (b, qb) = cast("list[tuple[Tensor, Quantization]]", found)
    y = writer.quantization(node.output)
    write = {"add": O.quantized_add, "sub": O.quantized_sub, "mul": O.quantized_mul}
    low, high = _limits(chain, y)
    result = write[first.op.name](a, b, (qa, qb, y), low=low, high=high)
    writer.whole[node.output] = result, y
    return True


def _operand(writer: Writer, x: Tensor) -> tuple[Tensor, Quantization] | None:
    """An operand as int8; a constant is scaled by its largest element."""
    if x.const is None:
        return (writer.int8(x), writer.quantization(x)) if writer.can(x) else None
    largest = float(np.abs(x.const).max(initial=0)) or 1.0
    q = Quantization(float(np.float32(largest / GREATEST)), 0)
    return O.tensor(x.shape, "int8", const=steps(x.const, q)), q


def _is_unary(writer: Writer, node: Node) -> bool:
    """Whether a node is an elementwise function of one tensor that may be int8."""
    tensors = {x for x in node.inputs if x.const is None}
    if not isinstance(node.op, Elementwise) or len(tensors) != 1:
        return False
    (x,) = tensors
    single = all(y.const is None or np.asarray(y.const).size == 1 for y in node.inputs)
    return writer.can(x) and single and node.output.shape == x.shape


def table(writer: Writer, node: Node) -> bool:
    """A function of one tensor as a table of its 256 values."""
    if node.output.dtype != "float32" or not _is_unary(writer, node):
        return False
    x = next(y for y in node.inputs if y.const is None)
    q, y = writer.quantization(x), writer.quantization(node.output)
    real = ((np.arange(LEAST, GREATEST + 1) - q.zero_point) * q.scale).astype(np.float32)
    operands = [real if z.const is None else np.asarray(z.const).reshape(()) for z in node.inputs]
    with np.errstate(all="ignore"):
        values = node.op.reference(*operands)
    finite = np.nan_to_num(values, nan=0.0, posinf=3e38, neginf=-3e38)
    writer.whole[node.output] = O.lookup(writer.int8(x), steps(finite, y)), y
    return True


def _keeps(writer: Writer, node: Node, write: Callable[[Tensor, Quantization], Tensor]) -> bool:
    """An operator whose result has the scale of its single operand."""
    (x,) = node.inputs
    if not writer.can(x):
        return False
    q = writer.quantization(x)
    writer.whole[node.output] = write(writer.int8(x), q), q
    return True


@rule(
    "reshape", "transpose", "slice", "flip", "expand", "max_pool2d", "reduce_max", "unpad", "tile"
)
def movement(writer: Writer, node: Node) -> bool:
    return _keeps(writer, node, lambda x, q: apply(node.op, x))


@rule("avg_pool2d")
def average(writer: Writer, node: Node) -> bool:
    op = cast("AvgPool2d", node.op)
    if op.count_include_pad and any(map(any, op.padding)):
        return False
    return _keeps(writer, node, lambda x, q: apply(op, x))


@rule("pad")
def pad(writer: Writer, node: Node) -> bool:
    op = cast("Pad", node.op)
    return _keeps(
        writer, node, lambda x, q: O.pad(x, op.padding, value=int(steps(float(op.value), q)))
    )


@rule("reduce_mean")
def mean(writer: Writer, node: Node) -> bool:
    (x,) = node.inputs
    op: Any = node.op
    axes = tuple(range(x.type.rank)) if op.axes is None else op.axes
    axes = tuple(axis % x.type.rank for axis in np.atleast_1d(axes).tolist())
    if not writer.can(x) or any(isinstance(x.shape[axis], str) for axis in axes):
        return False
    scales = writer.quantization(x), writer.quantization(node.output)
    result = O.quantized_mean(
        writer.int8(x), axes=axes, quantizations=scales, keepdims=bool(op.keepdims)
    )
    writer.whole[node.output] = result, scales[1]
    return True


@rule("softmax")
def softmax(writer: Writer, node: Node) -> bool:
    (x,) = node.inputs
    rank = x.type.rank
    last = cast("Softmax", node.op).axis % rank == rank - 1
    if not writer.can(x) or not last or int(x.shape[-1]) > 4095:
        return False
    result = O.quantized_softmax(writer.int8(x), writer.quantization(x).scale)
    writer.whole[node.output] = result, SOFTMAX
    return True


@rule("concat")
def concat(writer: Writer, node: Node) -> bool:
    if not all(writer.can(x) for x in node.inputs):
        return False
    y = writer.quantization(node.output)
    parts = [_rescaled(writer, x, y) for x in node.inputs]
    writer.whole[node.output] = O.concat(*parts, axis=cast("Concat", node.op).axis), y
    return True


def _rescaled(writer: Writer, x: Tensor, y: Quantization) -> Tensor:
    found, q = writer.int8(x), writer.quantization(x)
    if q == y:
        return found
    wide = O.sub(O.cast(found, "int32"), q.zero_point)
    return O.requantize(wide, q.scale / y.scale, zero_point=y.zero_point)


for _name in (
    *("relu", "sigmoid", "tanh", "exp", "gelu", "silu", "erf", "leaky_relu", "abs", "neg", "sqrt"),
    *("rsqrt", "log", "sin", "cos", "maximum", "minimum", "div", "pow", "floor", "ceil", "round"),
):
    rule(_name)(table)
