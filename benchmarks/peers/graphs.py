# SPDX-License-Identifier: Apache-2.0
"""The workloads as graphs of this project, which also define the expected results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import xtc
import xtc.ops as O
from xtc.evaluate import Comparison, compare, rounding_noise
from xtc.graph.tensor import Tensor

Array = npt.NDArray[Any]


def graph_of(workload: Mapping[str, Any], arrays: list[Array]) -> xtc.Graph:
    """The graph of a workload as JSON; its weights are constants."""
    tensors = [
        O.tensor(
            tuple(shape),
            workload["dtype"],
            const=as_element(array, workload["dtype"]) if position in workload["weights"] else None,
        )
        for position, (shape, array) in enumerate(zip(workload["inputs"], arrays, strict=True))
    ]
    with O.graph(name="bench") as gb:
        _OPERATORS[workload["op"]](workload["attributes"], *tensors)
    return gb.graph


def arguments_of(workload: Mapping[str, Any], arrays: list[Array]) -> list[Array]:
    """The arrays that are not weights, in the workload's element type."""
    return [
        as_element(array, workload["dtype"])
        for position, array in enumerate(arrays)
        if position not in workload["weights"]
    ]


def as_element(array: Array, dtype: str) -> Array:
    """The array in an element type of NumPy or ml_dtypes, which represents all its values."""
    return array.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def sample_inputs(workload: Mapping[str, Any], seed: int = 0) -> list[Array]:
    """Inputs, the same for every library: float32 (rounded to bfloat16 if requested), or int8."""
    rng = np.random.default_rng(seed)
    shapes = workload["inputs"]
    if workload["dtype"] == "int8":
        return [rng.integers(-100, 100, shape, np.int8, endpoint=True) for shape in shapes]
    arrays = [rng.standard_normal(shape, np.float32) for shape in shapes]
    return [as_element(array, workload["dtype"]).astype(np.float32) for array in arrays]


def save_graph(workload: Mapping[str, Any], folder: Path, seed: int = 0) -> Path:
    """Write the graph to a file for `xtc-tune`, whose schedule "tuned" then finds."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{re.sub(r'[^A-Za-z0-9]+', '-', workload['name'])}.yaml"
    graph_of(workload, sample_inputs(workload, seed)).save(path)
    return path


class Reference:
    """The expected result of a workload, in float64 and with NumPy's rounding."""

    def __init__(self, workload: Mapping[str, Any], arrays: list[Array]) -> None:
        graph = graph_of(workload, arrays)
        self._terms = graph.reduction_size
        self._dtype = graph.outputs[0].dtype
        if workload["dtype"] == "int8":  # exact in float64, and without NumPy's slow integers
            wide = [array.astype(np.float64) for array in arrays]
            self._precise = np.matmul(*wide).astype(np.int32)
            self._noise = 0.0
            return
        inputs = arguments_of(workload, arrays)
        self._precise = graph.evaluate(*inputs, precise=True)
        self._noise = rounding_noise(graph.evaluate(*inputs), self._precise)

    def compare(self, result: Array, name: str) -> Comparison:
        """Compare `result`, in which bfloat16 is widened, with a tolerance for rounding."""
        if self._dtype == "bfloat16" and result.dtype == np.float32:
            result = as_element(result, self._dtype)
        return compare(result, self._precise, name=name, reduction=self._terms, noise=self._noise)


def _conv2d(attributes: Mapping[str, int], x: Tensor, w: Tensor) -> None:
    O.relu(O.conv2d(x, w, stride=attributes["stride"], padding=attributes["padding"]))


def _depthwise(attributes: Mapping[str, int], x: Tensor, w: Tensor) -> None:
    stride, padding = attributes["stride"], attributes["padding"]
    O.relu(O.conv2d(x, w, stride=stride, padding=padding, groups=int(x.type.sizes[3])))


def _chain(attributes: Mapping[str, int], x: Tensor, y: Tensor) -> None:
    O.relu(O.sub(O.mul(O.add(x, y), x), y))


_OPERATORS: Mapping[str, Callable[..., object]] = {
    "matmul": lambda attributes, a, b: O.matmul(a, b),
    "conv2d_relu": _conv2d,
    "depthwise_relu": _depthwise,
    "softmax": lambda attributes, x: O.softmax(x),
    "layer_norm": lambda attributes, x, gamma, beta: O.layer_norm(x, gamma, beta),
    "chain": _chain,
    "reduce_sum": lambda attributes, x: O.reduce_sum(x),
}
