# SPDX-License-Identifier: Apache-2.0
"""An ONNX file of one of the networks here as a PyTorch module, for a comparison with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch.nn import functional

from xtc.core.errors import UserError

Attributes = Mapping[str, Any]
_SLICE_OPERANDS = 5


def module_of(path: Path) -> torch.nn.Module:
    """The file's graph. Raises UserError for kinds of nodes that these networks do not use."""
    return _Network(onnx.load(path).graph)


class _Network(torch.nn.Module):  # type: ignore[misc]
    """Runs the nodes in order; floating-point constants are buffers."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        super().__init__()
        unknown = sorted({node.op_type for node in graph.node} - set(_KINDS))
        if unknown:
            raise UserError(f"{', '.join(unknown)} is not written for PyTorch here")
        self._numbers: dict[str, Any] = {}
        for entry in graph.initializer:
            array = numpy_helper.to_array(entry)
            if array.dtype == np.int64 or (array.ndim == 1 and entry.name in _scales(graph)):
                self._numbers[entry.name] = array.tolist()
            else:
                self.register_buffer(entry.name, torch.from_numpy(array.copy()))
        self._names = {entry.name for entry in graph.initializer} - set(self._numbers)
        self._nodes = [
            (node.op_type, list(node.input), node.output[0], _attributes(node))
            for node in graph.node
        ]
        self._inputs = [given.name for given in graph.input]
        self._outputs = [given.name for given in graph.output]

    def forward(self, *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values: dict[str, Any] = dict(zip(self._inputs, arrays, strict=True))
        values |= self._numbers | {name: getattr(self, name) for name in self._names}
        for kind, operands, result, attributes in self._nodes:
            values[result] = _KINDS[kind](attributes, *(values.get(name) for name in operands))
        return tuple(values[name] for name in self._outputs)


def _scales(graph: onnx.GraphProto) -> set[str]:
    return {node.input[2] for node in graph.node if node.op_type == "Resize"}


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    found = {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in found.items()}


def _border(a: Attributes) -> tuple[tuple[int, int], list[int]]:
    """The padding of the operator itself, and the padding to add before it."""
    top, left, bottom, right = a["pads"]
    if (top, left) == (bottom, right):
        return (top, left), []
    return (0, 0), [left, right, top, bottom]


def _conv(a: Attributes, x: Any, w: Any) -> Any:
    border, before = _border(a)
    x = functional.pad(x, before) if before else x
    strides, dilations = tuple(a["strides"]), tuple(a["dilations"])
    return functional.conv2d(x, w, None, strides, border, dilations, a["group"])


def _max_pool(a: Attributes, x: Any) -> Any:
    border, before = _border(a)
    x = functional.pad(x, before, value=float("-inf")) if before else x
    return functional.max_pool2d(x, tuple(a["kernel_shape"]), tuple(a["strides"]), border)


def _avg_pool(a: Attributes, x: Any) -> Any:
    border, before = _border(a)
    if before:
        raise UserError("AveragePool of uneven padding is not written for PyTorch here")
    counts = bool(a.get("count_include_pad"))
    return functional.avg_pool2d(
        x, tuple(a["kernel_shape"]), tuple(a["strides"]), border, count_include_pad=counts
    )


def _slice(a: Attributes, x: Any, starts: Any, stops: Any, axes: Any, steps: Any) -> Any:
    for start, stop, axis, step in zip(starts, stops, axes, steps, strict=True):
        index = [slice(None)] * axis + [slice(start, stop, step)]
        x = x[tuple(index)]
    return x


def _gemm(a: Attributes, x: Any, y: Any) -> Any:
    x = x.mT if a.get("transA") else x
    return torch.matmul(x, y.mT if a.get("transB") else y)


def _layer_norm(a: Attributes, x: Any, gamma: Any, beta: Any) -> Any:
    return functional.layer_norm(x, x.shape[a["axis"] :], gamma, beta, a["epsilon"])


_KINDS: dict[str, Callable[..., Any]] = {
    "Conv": _conv,
    "MaxPool": _max_pool,
    "AveragePool": _avg_pool,
    "Resize": lambda a, x, roi, scales: functional.interpolate(x, scale_factor=scales[2:]),
    "ReduceMean": lambda a, x, axes: x.mean(axes, keepdim=bool(a["keepdims"])),
    "Concat": lambda a, *xs: torch.cat(xs, a["axis"]),
    "MatMul": lambda a, x, y: torch.matmul(x, y),
    "Gemm": _gemm,
    "Slice": _slice,
    "Reshape": lambda a, x, shape: x.reshape(shape),
    "Transpose": lambda a, x: x.permute(a["perm"]),
    "Gather": lambda a, x, i: torch.index_select(x, a["axis"], i),
    "Softmax": lambda a, x: torch.softmax(x, a["axis"]),
    "LayerNormalization": _layer_norm,
    "Gelu": lambda a, x: functional.gelu(x, approximate=a["approximate"]),
    "Add": lambda a, x, y: x + y,
    "Sub": lambda a, x, y: x - y,
    "Mul": lambda a, x, y: x * y,
    "Div": lambda a, x, y: x / y,
    "Neg": lambda a, x: -x,
    "Relu": lambda a, x: functional.relu(x),
    "Tanh": lambda a, x: torch.tanh(x),
    "Sigmoid": lambda a, x: torch.sigmoid(x),
    "Sqrt": lambda a, x: torch.sqrt(x),
    "Reciprocal": lambda a, x: torch.reciprocal(x),
    "Min": lambda a, x, y: torch.minimum(x, y),
    "Max": lambda a, x, y: torch.maximum(x, y),
}
