# SPDX-License-Identifier: Apache-2.0
"""Exports networks to ONNX files like those of other tools.

Images, which are arrays of rank 4 from a convolution or pooling on, are (n, c, h, w) there, inputs
and outputs included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import xtc
from xtc.core.errors import UserError
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor

OPSET = 20
_IR_VERSION = 10
_FIRST = (0, 3, 1, 2)  # permutation from channels last to channels first
_LAST = (0, 2, 3, 1)
_IMAGES = ("conv2d", "max_pool2d", "avg_pool2d", "resample")


def to_onnx(graph: xtc.Graph) -> onnx.ModelProto:
    """The graph as a model. Raises UserError for operators that these networks do not use."""
    return _Export(graph).model()


class _Export:
    """The nodes and constants so far; each tensor has a name in one layout or in both."""

    def __init__(self, graph: xtc.Graph) -> None:
        self.graph = graph
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.plain: dict[Tensor, str] = {}
        self.first: dict[Tensor, str] = {}
        readers = [node for node in graph.nodes if node.op.name in _IMAGES]
        images = {node.inputs[0] for node in readers}
        for tensor in graph.inputs:
            (self.first if tensor in images else self.plain)[tensor] = str(tensor.name)

    def model(self) -> onnx.ModelProto:
        inputs = [self._info(tensor, str(tensor.name)) for tensor in self.graph.inputs]
        for node in self.graph.nodes:
            self._node(node)
        names = [self.first.get(t) or self.name(t) for t in self.graph.outputs]
        outputs = [self._info(t, name) for t, name in zip(self.graph.outputs, names, strict=True)]
        graph = helper.make_graph(
            self.nodes, self.graph.name, inputs, outputs, list(self.constants.values())
        )
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)

    def _info(self, tensor: Tensor, name: str) -> onnx.ValueInfoProto:
        sizes = tensor.type.sizes
        shape = [sizes[axis] for axis in _FIRST] if tensor in self.first else list(sizes)
        kind = helper.np_dtype_to_tensor_dtype(tensor.element.numpy)
        return helper.make_tensor_value_info(name, kind, shape)

    def _node(self, node: Node) -> None:
        write = _OPERATORS.get(node.op.name, _elementwise)
        write(self, node)

    def emit(self, kind: str, operands: Sequence[str], **attributes: Any) -> str:
        """Add a node; returns the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name

    def constant(self, array: np.ndarray[Any, Any]) -> str:
        """The name of a new constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def name(self, tensor: Tensor) -> str:
        """The name of the tensor in the layout of the graph."""
        if tensor not in self.plain:
            if tensor.const is not None:
                self.plain[tensor] = self.constant(tensor.const)
            else:
                self.plain[tensor] = self.emit("Transpose", [self.first[tensor]], perm=_LAST)
        return self.plain[tensor]

    def image(self, tensor: Tensor) -> str:
        """The name of the tensor, or of a constant operand, with channels first."""
        if tensor not in self.first:
            if tensor.const is not None:
                self.first[tensor] = self.constant(_channels_first(tensor.const))
            else:
                self.first[tensor] = self.emit("Transpose", [self.plain[tensor]], perm=_FIRST)
        return self.first[tensor]


def _channels_first(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array that broadcasts to images, permuted for images with channels first."""
    if array.size == 1:
        return array
    whole = (1,) * (len(_FIRST) - array.ndim) + array.shape
    image: np.ndarray[Any, Any] = array.reshape(whole).transpose(_FIRST)
    return image


def _numbers(values: Iterable[int]) -> np.ndarray[Any, Any]:
    return np.array(list(values), np.int64)


def _elementwise(export: _Export, node: Node) -> None:
    if node.op.name not in _ELEMENTWISE:
        raise UserError(f"operator {node.op.name} is not written as ONNX here", where=node.where)
    kind = _ELEMENTWISE[node.op.name]
    images = [t for t in node.inputs if t in export.first and t not in export.plain]
    fits = all(t.const is not None or t.type.rank == 4 for t in node.inputs)
    as_image = bool(images) and fits
    operands = [(export.image if as_image else export.name)(t) for t in node.inputs]
    op: Any = node.op
    attributes = {"approximate": op.approximate} if kind == "Gelu" else {}
    results = export.first if as_image else export.plain
    if kind == "Silu":
        results[node.output] = export.emit("Mul", [*operands, export.emit("Sigmoid", operands)])
    elif kind == "Rsqrt":
        results[node.output] = export.emit("Reciprocal", [export.emit("Sqrt", operands)])
    else:
        results[node.output] = export.emit(kind, operands, **attributes)


def _conv2d(export: _Export, node: Node) -> None:
    x, w = node.inputs
    if w.const is None:
        raise UserError("a convolution with computed weights is not written", where=node.where)
    weights = export.constant(w.const.transpose(3, 2, 0, 1))
    op: Any = node.op
    (top, bottom), (left, right) = op.padding
    export.first[node.output] = export.emit(
        "Conv",
        [export.image(x), weights],
        strides=op.stride,
        pads=(top, left, bottom, right),
        dilations=op.dilation,
        group=op.groups,
    )


def _pool(export: _Export, node: Node) -> None:
    op: Any = node.op
    (top, bottom), (left, right) = op.padding
    kind = {"max_pool2d": "MaxPool", "avg_pool2d": "AveragePool"}[op.name]
    export.first[node.output] = export.emit(
        kind,
        [export.image(node.inputs[0])],
        kernel_shape=op.window,
        strides=op.stride,
        pads=(top, left, bottom, right),
    )


def _resample(export: _Export, node: Node) -> None:
    x, indices, weights = node.inputs
    op: Any = node.op
    axis = op.axis
    size, found = x.type.sizes[axis], indices.const
    scale = node.output.type.sizes[axis] // size
    nearest = np.repeat(np.arange(size), scale)[None]
    if found is None or not np.array_equal(found, nearest) or not np.all(weights.const == 1):
        raise UserError("only a repetition of pixels is written as Resize", where=node.where)
    scales = np.ones(4, np.float32)
    scales[_FIRST.index(axis)] = scale
    modes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    operands = [export.image(x), "", export.constant(scales)]
    export.first[node.output] = export.emit("Resize", operands, mode="nearest", **modes)


def _reduce_mean(export: _Export, node: Node) -> None:
    (x,) = node.inputs
    op: Any = node.op
    axes = op.reduced(x.type)
    is_image = x in export.first
    if is_image:
        axes = [_FIRST.index(axis) for axis in axes]
    operands = [(export.image if is_image else export.name)(x), export.constant(_numbers(axes))]
    name = export.emit("ReduceMean", operands, keepdims=int(op.keepdims))
    (export.first if is_image and op.keepdims else export.plain)[node.output] = name


def _concat(export: _Export, node: Node) -> None:
    is_image = all(t in export.first for t in node.inputs)
    op: Any = node.op
    axis = op.axis % node.output.type.rank
    operands = [(export.image if is_image else export.name)(t) for t in node.inputs]
    name = export.emit("Concat", operands, axis=_FIRST.index(axis) if is_image else axis)
    (export.first if is_image else export.plain)[node.output] = name


def _matmul(export: _Export, node: Node) -> None:
    a, b = node.inputs
    op: Any = node.op
    if a.type.rank == b.type.rank == 2 and (op.transpose_a or op.transpose_b):
        flags = {"transA": int(op.transpose_a), "transB": int(op.transpose_b)}
        export.plain[node.output] = export.emit("Gemm", [export.name(a), export.name(b)], **flags)
        return
    operands = []
    for tensor, is_transposed in ((a, op.transpose_a), (b, op.transpose_b)):
        name = export.name(tensor)
        if is_transposed:
            rank = tensor.type.rank
            name = export.emit("Transpose", [name], perm=[*range(rank - 2), rank - 1, rank - 2])
        operands.append(name)
    export.plain[node.output] = export.emit("MatMul", operands)


def _slice(export: _Export, node: Node) -> None:
    (x,) = node.inputs
    op: Any = node.op
    sizes = x.type.sizes
    stops = [size if stop is None else stop for stop, size in zip(op.stops, sizes, strict=True)]
    arrays = (op.starts, stops, range(len(sizes)), op.steps)
    operands = [export.name(x), *(export.constant(_numbers(a)) for a in arrays)]
    export.plain[node.output] = export.emit("Slice", operands)


def _plain(kind: str, *names: str) -> Callable[[_Export, Node], None]:
    """A function that exports an operator as a node with renamed attributes."""

    def write(export: _Export, node: Node) -> None:
        renamed = {"axes": "perm", "eps": "epsilon"}
        attributes = {renamed.get(name, name): getattr(node.op, name) for name in names}
        operands = [export.name(tensor) for tensor in node.inputs]
        export.plain[node.output] = export.emit(kind, operands, **attributes)

    return write


def _reshape(export: _Export, node: Node) -> None:
    shape = export.constant(_numbers(node.output.type.sizes))
    export.plain[node.output] = export.emit("Reshape", [export.name(node.inputs[0]), shape])


_OPERATORS: Mapping[str, Callable[[_Export, Node], None]] = {
    "conv2d": _conv2d,
    "max_pool2d": _pool,
    "avg_pool2d": _pool,
    "resample": _resample,
    "reduce_mean": _reduce_mean,
    "concat": _concat,
    "matmul": _matmul,
    "slice": _slice,
    "reshape": _reshape,
    "transpose": _plain("Transpose", "axes"),
    "gather": _plain("Gather", "axis"),
    "softmax": _plain("Softmax", "axis"),
    "layer_norm": _plain("LayerNormalization", "axis", "eps"),
}
_ELEMENTWISE = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "neg": "Neg",
    "relu": "Relu",
    "gelu": "Gelu",
    "silu": "Silu",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "rsqrt": "Rsqrt",
    "minimum": "Min",
    "maximum": "Max",
}
